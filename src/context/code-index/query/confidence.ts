import { dirname } from 'node:path';
import type { CodeReference } from '../../../protocol/code.ts';
import type { FileFacts, HitClass, Language } from '../../lang/contract.ts';
import type { CodeIndex } from '../code-index.ts';
import type { TreeFile } from '../tree/worktree-tree.ts';
import type { Found } from './definitions.ts';
import type { ImportPaths } from './import-paths.ts';

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

/** Ranks the uses of one name by how surely they mean a definition of it. It never hides any. */
export class Judge {
  readonly #index: CodeIndex;
  readonly #imports: ImportPaths;
  readonly #name: string;
  readonly #definitions: readonly Found[];
  readonly #byFile = new Map<string, Found[]>();
  readonly #reached = new Map<string, Judged | undefined>();

  constructor({
    index,
    imports,
    name,
    definitions,
  }: { index: CodeIndex; imports: ImportPaths; name: string; definitions: readonly Found[] }) {
    this.#index = index;
    this.#imports = imports;
    this.#name = name;
    this.#definitions = definitions;
    for (const found of definitions) {
      const same = this.#byFile.get(found.file.path) ?? [];
      same.push(found);
      this.#byFile.set(found.file.path, same);
    }
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
    const structure = this.#index.structures.known(file, language);
    if (!structure || 'skipped' in structure) return undefined;
    const relevant = structure.facts.imports.filter((each) => mayBring(each, this.#name));
    for (const { source } of relevant) {
      const target = this.#targetOf(this.#imports.resolve(file.path, language, source));
      if (target) return { confidence: 'exact', target };
    }
    const byName = relevant.some(({ names }) => names.some(({ name, alias }) => (alias ?? name) === this.#name));
    if (!byName) return undefined;
    const [only, second] = this.#definitions;
    return only && !second ? { confidence: 'likely', target: only } : { confidence: 'likely' };
  }

  #targetOf(paths: readonly string[]): Found | undefined {
    return paths.flatMap((path) => this.#byFile.get(path) ?? [])[0];
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

/** In these languages the files of a folder are one package and see each other without import. */
export function isPackaged(language: Language): boolean {
  return ['go', 'java', 'kotlin', 'scala', 'csharp', 'swift'].includes(language);
}

/** An import that names nothing brings everything: C's headers, Python's `from x import *`, Go's packages. */
function mayBring({ names }: FileFacts['imports'][number], wanted: string): boolean {
  return names.length === 0 || names.some(({ name, alias }) => name === wanted || alias === wanted || name === '*');
}
