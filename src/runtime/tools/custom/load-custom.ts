import { existsSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Tool } from '../tool.ts';
import { type CustomToolDeps, customTool } from './custom-tool.ts';
import { declare } from './declare.ts';
import { LANGUAGES, type Language, type ToolFile } from './tool-file.ts';

export interface LoadedTools {
  tools: Tool[];
  /** Files that could not be understood, with the reason; the rest works. */
  broken: { file: string; reason: string }[];
}

type Declarations = Awaited<ReturnType<typeof declare>>;

/** Reads the user's tools. A file is read again when it changed, for reading one may start a program. */
export class CustomTools {
  readonly #parts: CustomToolDeps;
  readonly #known = new Map<string, { stamp: string; declared: Promise<Declarations> }>();

  constructor(parts: CustomToolDeps) {
    this.#parts = parts;
  }

  /** `functions/tools`: a tool is a file. Of equal names the earlier language counts, as for agents. */
  async load(dir: string): Promise<LoadedTools> {
    const files = byLanguage(await filesOf(dir));
    const loaded = await Promise.all(files.map((file) => this.#one(file)));
    return merged(loaded);
  }

  /** `agents/NAME/tools.*`: one file, of its functions each a tool: .sh before .py before .ts before .js. */
  async loadAgent(dir: string, extraEnv: Readonly<Record<string, string>>): Promise<LoadedTools> {
    const language = LANGUAGES.find((each) => existsSync(join(dir, `tools.${each}`)));
    if (language === undefined) return { tools: [], broken: [] };
    const file: ToolFile = { path: join(dir, `tools.${language}`), name: 'tools', language };
    const parts = { ...this.#parts, extraEnv };
    return this.#understood(file, ({ all }) =>
      all
        .filter(({ name }) => !name.startsWith('_') || name === '_instructions')
        .map((declared) => customTool(file, declared, { ...parts, name: declared.name })),
    );
  }

  #one(file: ToolFile): Promise<LoadedTools> {
    return this.#understood(file, ({ main }) => {
      if (!main) throw new Error(MISSING[file.language]);
      return [customTool(file, main, { ...this.#parts, name: file.name })];
    });
  }

  async #understood(file: ToolFile, make: (declared: Declarations) => Tool[]): Promise<LoadedTools> {
    try {
      return { tools: make(await this.#declared(file)), broken: [] };
    } catch (error) {
      return {
        tools: [],
        broken: [{ file: file.path, reason: error instanceof Error ? error.message : String(error) }],
      };
    }
  }

  async #declared(file: ToolFile): Promise<Declarations> {
    const { mtimeMs, size } = await stat(file.path);
    const stamp = `${mtimeMs} ${size}`;
    const known = this.#known.get(file.path);
    if (known?.stamp === stamp) return known.declared;
    const declared = declare(file, this.#parts.run);
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
