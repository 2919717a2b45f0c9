import { dirname } from 'node:path';
import type { CodeReference } from '../../../protocol/code.ts';
import type { FileFacts, HitClass, Language } from '../../lang/contract.ts';
import type { CodeIndex } from '../code-index.ts';
import type { ImportPaths } from '../modules/import-paths.ts';
import type { TreeFile } from '../tree/worktree-tree.ts';
import type { Found } from './definitions.ts';

type Confidence = CodeReference['confidence'];

export interface Judged {
  confidence: Confidence;
  target?: Found;
}

/** The surest first. */
export const CONFIDENCES = ['exact', 'likely', 'name', 'lexical'] as const satisfies readonly Confidence[];

interface Use {
  file: TreeFile;
  language: Language;
  line: number;
  found: HitClass;
}

/** Ranks the uses of one name by how surely they mean a definition of it. It hides none. */
export class Judge {
  readonly #index: CodeIndex;
  readonly #imports: ImportPaths;
  readonly #name: string;
  readonly #definitions: readonly Found[];
  readonly #byFile: ReadonlyMap<string, readonly Found[]>;
  readonly #reached = new Map<string, Judged | undefined>();

  constructor(index: CodeIndex, imports: ImportPaths, name: string, definitions: readonly Found[]) {
    this.#index = index;
    this.#imports = imports;
    this.#name = name;
    this.#definitions = definitions;
    this.#byFile = Map.groupBy(definitions, ({ file }) => file.path);
  }

  judge({ file, language, line, found }: Use): Judged {
    const own = this.#byFile.get(file.path) ?? [];
    const itself = own.find(({ definition }) => definition.line === line);
    if (found.kind === 'definition') return itself ? { confidence: 'exact', target: itself } : { confidence: 'exact' };
    if (found.scope === 'local') return { confidence: 'exact' };
    const [first, second] = own;
    if (first) return second ? { confidence: 'name' } : { confidence: 'exact', target: first };
    return this.#viaImport(file, language) ?? this.#viaPackage(file, language) ?? this.#alone();
  }

  #viaImport(file: TreeFile, language: Language): Judged | undefined {
    if (!this.#reached.has(file.path)) this.#reached.set(file.path, this.#findImport(file, language));
    return this.#reached.get(file.path);
  }

  #findImport(file: TreeFile, language: Language): Judged | undefined {
    const imports = this.#index.structures.known(file, language)?.facts?.imports ?? [];
    const relevant = imports.filter((each) => mayBring(each, this.#name));
    for (const { source } of relevant) {
      const paths = this.#imports.resolve(file.path, language, source);
      const [target] = paths.flatMap((path) => this.#byFile.get(path) ?? []);
      if (target) return { confidence: 'exact', target };
    }
    const byName = relevant.some(({ names }) => names.some(({ name, alias }) => (alias ?? name) === this.#name));
    return byName ? { ...this.#alone(), confidence: 'likely' } : undefined;
  }

  #viaPackage({ path }: TreeFile, language: Language): Judged | undefined {
    if (!isPackaged(language)) return undefined;
    const target = this.#definitions.find(({ file }) => dirname(file.path) === dirname(path));
    return target && { confidence: 'likely', target };
  }

  #alone(): Judged {
    const [only, second] = this.#definitions;
    return only && !second ? { confidence: 'likely', target: only } : { confidence: 'name' };
  }
}

/** In these languages the files of a folder are one package and see each other without an import. */
export function isPackaged(language: Language): boolean {
  return ['go', 'java', 'kotlin', 'scala', 'csharp', 'swift'].includes(language);
}

/** An import without names brings everything: C's headers, Python's `from x import *`, Go's packages. */
function mayBring({ names }: FileFacts['imports'][number], wanted: string): boolean {
  return names.length === 0 || names.some(({ name, alias }) => name === wanted || alias === wanted || name === '*');
}
