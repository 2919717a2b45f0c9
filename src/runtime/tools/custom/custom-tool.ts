import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { capText } from '../../../base/cap.ts';
import { readUpTo } from '../../../base/read-up-to.ts';
import { ReefError } from '../../../protocol/errors.ts';
import { outcome } from '../builtin/execute.ts';
import type { CommandSpec, RunCommand } from '../command.ts';
import type { Tool, ToolContext } from '../tool.ts';
import { PYTHON_RUN } from './python-source.ts';
import { SCRIPT_RUN, SHELL_RUN } from './script-source.ts';
import type { Declared, ToolFile } from './tool-file.ts';

export interface CustomToolDeps {
  run: RunCommand;
  /** `LLM_ROOT_DIR`: the folder of functions. */
  rootDir: string;
  cacheDir: string;
  /** The environment with `functions/.env`: where `@env` finds its values. */
  variables: Readonly<Record<string, string | undefined>>;
  /** `LLM_AGENT_VAR_<NAME>` and the like, for an agent's own tools. */
  extraEnv?: Readonly<Record<string, string>> | undefined;
}

const MAX_DESCRIPTION = 4 * 1024;
/** Of `LLM_OUTPUT`, which a model is shown the beginning of. */
const MAX_OUTPUT = 16 * 1024 * 1024;

/** A tool that is a file of the user's. It runs in a process of its own, in the working directory. */
export function customTool(file: ToolFile, declared: Declared, parts: CustomToolDeps & { name: string }): Tool {
  return {
    name: parts.name,
    description: capText(declared.description, MAX_DESCRIPTION),
    parameters: declared.parameters,
    effect: 'exec',
    async run(args, context) {
      const given = argumentsOf(parts.name, declared, args);
      const folder = await mkdtemp(join(tmpdir(), 'reef-tool-'));
      try {
        const env = { ...(await environment(declared, parts)), LLM_OUTPUT: join(folder, 'output') };
        const spec = program({ file, declared, given, context });
        const result = await parts.run({ ...spec, env: { ...env, ...spec.env } });
        const written = await readUpTo(env.LLM_OUTPUT, MAX_OUTPUT).catch(() => undefined);
        const printed = outcome(result);
        if (!written || written.bytes.length === 0) return printed;
        const cut = written.isWhole ? '' : `\n[What follows the first ${MAX_OUTPUT / 2 ** 20} MiB was not read]`;
        return `${written.bytes}${cut}`;
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },
  };
}

type Given = Record<string, unknown>;

function argumentsOf(name: string, { parameters }: Declared, args: unknown): Given {
  if (typeof args !== 'object' || args === null || Array.isArray(args)) {
    throw new ReefError('bad_request', `The arguments of ${name} are no object`);
  }
  const known = Object.keys((parameters.properties as object | undefined) ?? {});
  const required = (parameters.required as string[] | undefined) ?? [];
  const missing = required.filter((key) => !Object.hasOwn(args, key));
  const strange = Object.keys(args).filter((key) => !known.includes(key));
  if (missing.length > 0) throw new ReefError('bad_request', `${name} needs ${missing.join(', ')}`);
  if (strange.length > 0) throw new ReefError('bad_request', `${name} has no argument ${strange.join(', ')}`);
  return args as Given;
}

async function environment(
  declared: Declared,
  parts: CustomToolDeps & { name: string },
): Promise<Record<string, string>> {
  const cacheDir = join(parts.cacheDir, parts.name);
  await mkdir(cacheDir, { recursive: true, mode: 0o700 });
  const wanted: Record<string, string> = {};
  const missing: string[] = [];
  for (const { name, isRequired, preset } of declared.env) {
    const value = parts.variables[name] ?? preset;
    if (value !== undefined) wanted[name] = value;
    else if (isRequired) missing.push(name);
  }
  if (missing.length > 0) throw new ReefError('tool_failed', `${parts.name} needs the variable ${missing.join(', ')}`);
  return {
    ...wanted,
    ...parts.extraEnv,
    LLM_ROOT_DIR: parts.rootDir,
    LLM_TOOL_NAME: parts.name,
    LLM_TOOL_CACHE_DIR: cacheDir,
  };
}

interface Call {
  file: ToolFile;
  declared: Declared;
  given: Given;
  context: ToolContext;
}

function program({ file, declared, given, context: { cwd, signal } }: Call): CommandSpec {
  const place = { cwd, signal };
  switch (file.language) {
    case 'sh':
      return {
        ...place,
        file: 'bash',
        args: ['-c', SHELL_RUN, 'bash', file.path],
        env: {
          ...shellArguments(declared, given),
          REEF_FUNCTION: declared.name,
          REEF_LISTS: declared.lists.map((name) => `argc_${name}`).join(' '),
        },
      };
    case 'py':
      return {
        ...place,
        file: 'python3',
        args: ['-c', PYTHON_RUN, file.path, declared.name],
        input: JSON.stringify(given),
      };
    case 'ts':
    case 'js': {
      const args = ['--input-type=module', '-e', SCRIPT_RUN, file.path, declared.name];
      return { ...place, file: process.execPath, args, input: JSON.stringify(given) };
    }
  }
}

/** Booleans as argc has them: 1, or nothing. Lists one value a line; our prelude makes arrays of them. */
function shellArguments({ parameters }: Declared, given: Given): Record<string, string> {
  const properties = (parameters.properties ?? {}) as Record<string, { default?: unknown }>;
  const values = Object.entries(properties).map(
    ([name, { default: preset }]) => [name, given[name] ?? preset] as const,
  );
  return Object.fromEntries(
    values.flatMap(([name, value]) => {
      if (value === undefined || value === null || value === false) return [];
      return [[`argc_${name}`, shellText(value)]];
    }),
  );
}

function shellText(value: unknown): string {
  if (value === true) return '1';
  if (Array.isArray(value)) return value.map(shellText).join('\n');
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value);
}
