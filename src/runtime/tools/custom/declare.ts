import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import { parseJson } from '../../../base/safe-json.ts';
import type { RunCommand } from '../command.ts';
import { parseArgcTags } from './argc-tags.ts';
import { type Declared, objectSchema, programText, type ToolFile } from './tool-file.ts';

const TIMEOUT_MS = 15_000;
const schema = z.record(z.string(), z.unknown());
const pythonSchema = z.union([
  z.object({ error: z.string() }),
  z.object({
    functions: z.array(
      z.object({ name: z.string(), description: z.string(), properties: schema, required: z.array(z.string()) }),
    ),
  }),
]);
const scriptSchema = z.object({
  functions: z.array(z.object({ name: z.string(), description: z.string(), parameters: schema })),
});

const bare = { env: [], lists: [], programs: [] };

/** Reads the declarations of a tool file. Throws with the reason if it cannot be understood. */
export async function declare(file: ToolFile, run: RunCommand): Promise<{ main?: Declared; all: Declared[] }> {
  switch (file.language) {
    case 'sh':
      return declareShell(file);
    case 'py':
      return declarePython(file, run);
    case 'ts':
    case 'js':
      return declareScript(file, run);
  }
}

async function declareShell({ path }: ToolFile) {
  const text = await readFile(path, 'utf8');
  const { main, commands } = parseArgcTags(text);
  return main.description === '' ? { all: commands } : { main, all: commands };
}

async function declarePython({ path }: ToolFile, run: RunCommand) {
  const stdout = await output(run, { file: 'python3', args: ['-I', '-c', programText('declare.py'), path], path });
  const found = pythonSchema.parse(JSON.parse(stdout));
  if ('error' in found) throw new Error(found.error);
  const all = found.functions.map(
    ({ name, description, properties, required }): Declared => ({
      ...bare,
      name,
      description,
      parameters: objectSchema(properties, required),
    }),
  );
  return withMain(all);
}

async function declareScript({ path }: ToolFile, run: RunCommand) {
  const args = ['--input-type=module', '-e', programText('declare.mjs'), path];
  const stdout = await output(run, { file: process.execPath, args, path });
  // The module itself may write while it loads; our line is the last.
  const parsed = parseJson(stdout.slice(stdout.lastIndexOf('\n') + 1));
  if (!parsed.ok) throw new Error(parsed.why);
  const { functions } = scriptSchema.parse(parsed.value);
  return withMain(functions.map((each): Declared => ({ ...bare, ...each })));
}

function withMain(all: Declared[]) {
  const main = all.find(({ name }) => name === 'run');
  return main ? { main, all } : { all };
}

async function output(
  run: RunCommand,
  { file, args, path }: { file: string; args: string[]; path: string },
): Promise<string> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const spec = { file, args, cwd: dirname(path), timeoutMs: TIMEOUT_MS, signal };
  const { code, stdout, stderr, timedOut } = await run(spec);
  if (timedOut) throw new Error('it took too long to load');
  if (code !== 0) throw new Error(lastLines(stderr));
  return stdout.trimEnd();
}

/** Of a stack trace, only the line with the error. */
function lastLines(stderr: string): string {
  const lines = stderr.trim().split('\n');
  return lines.find((line) => /^\w*Error\b/.test(line)) ?? lines.at(-1) ?? 'it failed';
}
