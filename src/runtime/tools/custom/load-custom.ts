import { existsSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { toReefError } from '../../../protocol/errors.ts';
import type { Tool } from '../tool.ts';
import { type CustomToolDeps, customTool } from './custom-tool.ts';
import { declare } from './declare.ts';
import { LANGUAGES, type Language, type ToolFile } from './tool-file.ts';

export interface LoadedTools {
  tools: Tool[];
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

  /** Loads `functions/tools`, one tool per file. Of files with the same name the earlier language counts. */
  async load(dir: string): Promise<LoadedTools> {
    const files = byLanguage(await filesOf(dir));
    const loaded = await Promise.all(files.map((file) => this.#one(file)));
    return merged(loaded);
  }

  /** Loads `agents/NAME/tools.*`: one file, each of its functions a tool. */
  async loadAgent(dir: string, extraEnv: Readonly<Record<string, string>>): Promise<LoadedTools> {
    const language = LANGUAGES.find((each) => existsSync(join(dir, `tools.${each}`)));
    if (language === undefined) return { tools: [], broken: [] };
    const file: ToolFile = { path: join(dir, `tools.${language}`), name: 'tools', language };
    const deps = { ...this.#deps, extraEnv };
    return this.#understood(file, ({ all }) =>
      all
        .filter(({ name }) => !name.startsWith('_') || name === '_instructions')
        .map((declared) => customTool(file, declared, { ...deps, name: declared.name })),
    );
  }

  #one(file: ToolFile): Promise<LoadedTools> {
    return this.#understood(file, ({ main }) => {
      if (!main) throw new Error(MISSING[file.language]);
      return [customTool(file, main, { ...this.#deps, name: file.name })];
    });
  }

  async #understood(file: ToolFile, make: (declared: Declarations) => Tool[]): Promise<LoadedTools> {
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

function byLanguage(files: readonly ToolFile[]): ToolFile[] {
  const rank = ({ language }: ToolFile) => LANGUAGES.indexOf(language);
  return files.filter((file) => !files.some((other) => other.name === file.name && rank(other) < rank(file)));
}

function merged(loaded: readonly LoadedTools[]): LoadedTools {
  return { tools: loaded.flatMap(({ tools }) => tools), broken: loaded.flatMap(({ broken }) => broken) };
}
