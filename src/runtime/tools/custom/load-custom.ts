import { existsSync, readFileSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { parseEnv } from 'node:util';
import { toReefError } from '../../../protocol/errors.ts';
import { type CustomTool, type CustomToolDeps, customTool } from './custom-tool.ts';
import { declare } from './declare.ts';
import { problemsOf } from './problems.ts';
import { LANGUAGES, type Language, type ToolFile } from './tool-file.ts';

export interface LoadedTools {
  tools: CustomTool[];
  /** Files that were left out, with the reason. */
  broken: { file: string; reason: string }[];
}

type Declarations = Awaited<ReturnType<typeof declare>>;

/** Reads the user's tools. Reading may start a program, so a file is read again only when it changed. */
export class CustomTools {
  readonly #deps: CustomToolDeps;
  readonly #known = new Map<string, { stamp: string; declared: Promise<Declarations> }>();

  constructor(deps: CustomToolDeps) {
    this.#deps = deps;
  }

  /**
   * Loads `functions/tools`, one tool per file. Of files with the same name the one that `wanted` names with its ending
   * counts, and otherwise the earlier language. In an agent the tools know its variables.
   */
  async load(dir: string, { wanted = [], variables = {} }: Scope = {}): Promise<LoadedTools> {
    const { functionsDir } = this.#deps;
    const env = { ...this.#dotEnv(functionsDir), ...variables, LLM_ROOT_DIR: functionsDir };
    const files = oneOfEach(await filesOf(dir), wanted);
    const loaded = await Promise.all(files.map((file) => this.#one(file, env)));
    return merged(loaded);
  }

  /** Loads `agents/NAME/tools.*`: one file, each of its functions a tool. */
  async loadAgent(
    { name, dir }: { name: string; dir: string },
    variables: Readonly<Record<string, string>>,
  ): Promise<LoadedTools> {
    const language = LANGUAGES.find((each) => existsSync(join(dir, `tools.${each}`)));
    if (language === undefined) return { tools: [], broken: [] };
    const file: ToolFile = { path: join(dir, `tools.${language}`), name: 'tools', language };
    const { configDir, cacheDir } = this.#deps;
    const env = {
      ...this.#dotEnv(dir),
      ...variables,
      LLM_ROOT_DIR: configDir,
      LLM_AGENT_NAME: name,
      LLM_AGENT_ROOT_DIR: dir,
      LLM_AGENT_CACHE_DIR: join(cacheDir, name),
    };
    const deps = { ...this.#deps, env };
    return this.#understood(file, ({ all }) =>
      all
        .filter(({ name }) => !name.startsWith('_') || name === '_instructions')
        .map((declared) => customTool(file, declared, { ...deps, name: declared.name })),
    );
  }

  /** Why some of them cannot work on this machine, by their files. */
  problems(tools: readonly CustomTool[]): Promise<ReadonlyMap<string, string>> {
    return problemsOf(tools, this.#deps);
  }

  /** A folder's `.env` is for all tools in it. A variable that is set wins, as it does for Reef itself. */
  #dotEnv(dir: string): Record<string, string> {
    const read = Object.entries(dotEnv(join(dir, '.env')));
    return Object.fromEntries(read.map(([name, value]) => [name, this.#deps.variables[name] ?? value ?? '']));
  }

  #one(file: ToolFile, env: Readonly<Record<string, string>>): Promise<LoadedTools> {
    return this.#understood(file, ({ main }) => {
      if (!main) throw new Error(MISSING[file.language]);
      return [customTool(file, main, { ...this.#deps, env, name: file.name })];
    });
  }

  async #understood(file: ToolFile, make: (declared: Declarations) => CustomTool[]): Promise<LoadedTools> {
    try {
      return { tools: make(await this.#declared(file)), broken: [] };
    } catch (error) {
      return { tools: [], broken: [{ file: file.path, reason: toReefError(error).message }] };
    }
  }

  async #declared(file: ToolFile): Promise<Declarations> {
    const { mtimeMs, size } = await stat(file.path);
    const stamp = `${mtimeMs} ${size}`;
    const known = this.#known.get(file.path);
    if (known?.stamp === stamp) return known.declared;
    const declared = declare(file, this.#deps.run);
    this.#known.set(file.path, { stamp, declared });
    return declared;
  }
}

interface Scope {
  /** Names of tools; those with an ending name a file. */
  wanted?: readonly string[];
  /** Those of the active agent, as its tools see them. */
  variables?: Readonly<Record<string, string>>;
}

/** Empty if there is no such file. */
export function dotEnv(file: string): Record<string, string | undefined> {
  try {
    return parseEnv(readFileSync(file, 'utf8'));
  } catch {
    return {};
  }
}

const MISSING: Record<Language, string> = {
  sh: 'it has no "# @describe" line',
  py: 'it has no function run',
  ts: 'it exports no function run',
  js: 'it exports no function run',
};

async function filesOf(dir: string): Promise<ToolFile[]> {
  const names = await readdir(dir).catch(() => []);
  return names.sort().flatMap((entry): ToolFile[] => {
    const [, name, language] = /^([A-Za-z_][\w-]*)\.(sh|py|ts|js)$/.exec(entry) ?? [];
    if (name === undefined) return [];
    return [{ path: join(dir, entry), name, language: language as Language }];
  });
}

function oneOfEach(files: readonly ToolFile[], wanted: readonly string[]): ToolFile[] {
  const rank = ({ path, language }: ToolFile) => (wanted.includes(basename(path)) ? -1 : LANGUAGES.indexOf(language));
  return files.filter((file) => !files.some((other) => other.name === file.name && rank(other) < rank(file)));
}

function merged(loaded: readonly LoadedTools[]): LoadedTools {
  return { tools: loaded.flatMap(({ tools }) => tools), broken: loaded.flatMap(({ broken }) => broken) };
}
