import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { capText } from '../../../base/cap.ts';
import { readUpTo } from '../../../base/read-up-to.ts';
import { ReefError } from '../../../protocol/errors.ts';
import { outcome } from '../builtin/execute.ts';
import type { CommandSpec, RunCommand } from '../command.ts';
import type { Tool, ToolContext } from '../tool.ts';
import { type Declared, programText, type ToolFile } from './tool-file.ts';

export interface CustomToolDeps {
  run: RunCommand;
  /** The folder of functions. */
  functionsDir: string;
  /** `LLM_PROMPT_UTILS_FILE`, which Loki puts there. */
  utilsFile: string;
  /** The folder with all of the configuration. */
  configDir: string;
  cacheDir: string;
  /** Has the values for `@env`. */
  variables: Readonly<Record<string, string | undefined>>;
}

export interface CustomTool extends Tool {
  /** The path of its file. */
  readonly file: string;
  /** What it needs on the machine. */
  readonly programs: readonly string[];
}

type Made = CustomToolDeps & {
  name: string;
  /** Variables for all tools of the same place. */
  env: Readonly<Record<string, string>>;
};

const MAX_DESCRIPTION = 4 * 1024;
/** The most bytes of `LLM_OUTPUT` that are read. */
const MAX_OUTPUT = 16 * 1024 * 1024;

/** A tool from the user's file. It runs as a process in the working directory. */
export function customTool(file: ToolFile, declared: Declared, deps: Made): CustomTool {
  return {
    file: file.path,
    programs: declared.programs,
    name: deps.name,
    description: capText(declared.description, MAX_DESCRIPTION),
    parameters: declared.parameters,
    effect: 'exec',
    async run(args, context) {
      const given = argumentsOf(deps.name, declared, args);
      const folder = await mkdtemp(join(tmpdir(), 'reef-tool-'));
      try {
        const env = { ...(await environment(declared, deps)), LLM_OUTPUT: join(folder, 'output') };
        const spec = program({ file, declared, given, context });
        const result = await deps.run({ ...spec, env: { ...env, ...spec.env } });
        const written = await readUpTo(env.LLM_OUTPUT, MAX_OUTPUT).catch(() => undefined);
        const printed = outcome(result);
        if (!written || written.bytes.length === 0) return printed;
        const cut = written.isWhole ? '' : `\n[Only the first ${MAX_OUTPUT / 2 ** 20} MiB were read]`;
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
    throw new ReefError('bad_request', `The arguments of ${name} are not an object`);
  }
  const known = Object.keys((parameters.properties as object | undefined) ?? {});
  const required = (parameters.required as string[] | undefined) ?? [];
  const missing = required.filter((key) => !Object.hasOwn(args, key));
  const strange = Object.keys(args).filter((key) => !known.includes(key));
  if (missing.length > 0) throw new ReefError('bad_request', `${name} needs ${missing.join(', ')}`);
  if (strange.length > 0) throw new ReefError('bad_request', `${name} has no argument ${strange.join(', ')}`);
  return args as Given;
}

async function environment(declared: Declared, deps: Made): Promise<Record<string, string>> {
  const cacheDir = join(deps.cacheDir, deps.name);
  await mkdir(cacheDir, { recursive: true, mode: 0o700 });
  const wanted: Record<string, string> = {};
  const missing: string[] = [];
  for (const { name, isRequired, preset } of declared.env) {
    const value = deps.env[name] ?? deps.variables[name] ?? preset;
    if (value !== undefined) wanted[name] = value;
    else if (isRequired) missing.push(name);
  }
  if (missing.length > 0) throw new ReefError('tool_failed', `${deps.name} needs the variable ${missing.join(', ')}`);
  return {
    // What a model reads has no colours.
    TERM: 'dumb',
    ...wanted,
    ...deps.env,
    ...(deps.env.LLM_AGENT_ROOT_DIR !== undefined && { LLM_AGENT_FUNC: declared.name }),
    LLM_PROMPT_UTILS_FILE: deps.utilsFile,
    LLM_TOOL_NAME: deps.name,
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
        // The second is `$0`, by which a script finds its folder.
        args: ['-c', programText('run.sh'), file.path, file.path, ...shellWords(declared, given)],
        env: {
          ...shellArguments(declared, given),
          REEF_FUNCTION: declared.name,
          REEF_LISTS: declared.lists.map((name) => `argc_${name}`).join(' '),
        },
      };
    case 'py': {
      const args = ['-c', programText('run.py'), file.path, declared.name];
      return { ...place, file: 'python3', args, input: JSON.stringify(given) };
    }
    case 'ts':
    case 'js': {
      const args = ['--input-type=module', '-e', programText('run.mjs'), file.path, declared.name];
      return { ...place, file: process.execPath, args, input: JSON.stringify(given) };
    }
  }
}

/** As in argc, true is 1 and false is unset. A list has one value per line; `run.sh` makes an array of it. */
function shellArguments({ parameters }: Declared, given: Given): Record<string, string> {
  const properties = (parameters.properties ?? {}) as Record<string, { default?: unknown }>;
  const env: Record<string, string> = {};
  for (const [name, { default: preset }] of Object.entries(properties)) {
    const value = given[name] ?? preset;
    if (value !== undefined && value !== null && value !== false) env[`argc_${name}`] = shellText(value);
  }
  return env;
}

/** The command line as Loki gives it to a script. */
function shellWords({ name, isCommand }: Declared, given: Given): string[] {
  const options = Object.entries(given).flatMap(([key, value]) => {
    const option = `--${key.replaceAll('_', '-')}`;
    if (typeof value === 'boolean') return value ? [option] : [];
    return (Array.isArray(value) ? value : [value]).flatMap((each) => [option, shellText(each)]);
  });
  return isCommand ? [name, ...options] : options;
}

function shellText(value: unknown): string {
  if (value === true) return '1';
  if (Array.isArray(value)) return value.map(shellText).join('\n');
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value);
}
