import { dirname, join } from 'node:path';
import type { Oid } from '../../../git/ref-name.ts';
import type { CodeParser, HitClass, Language } from '../../lang/contract.ts';
import type { CodeIndex } from '../code-index.ts';
import { readRegular } from '../tree/read-file.ts';
import type { TreeFile } from '../tree/worktree-tree.ts';
import { hasDollarNames, wordHits } from '../words/hits.ts';
import { holds, type Sketch, wordHashes } from '../words/sketch.ts';
import { isPackaged } from './confidence.ts';
import { MAY_USE } from './edges.ts';
import type { Graph } from './repo-graph.ts';

const MAX_BYTES = 1024 * 1024;
const MOST_KEPT = 4_000;
/** Of one name in one file: the first in code settles it, and comments repeat a name a few times at most. */
const MOST_HITS = 200;

/**
 * Words say which files may use a file; only what stands in code and is bound nowhere nearer does (C-067). What a file's code says
 * is kept by content and name, so an edit elsewhere costs nothing here.
 */
export class SureUses {
  readonly #index: CodeIndex;
  readonly #kept = new Map<Oid, Map<string, boolean>>();

  constructor(index: CodeIndex) {
    this.#index = index;
  }

  forget(): void {
    this.#kept.clear();
  }

  /** Those of the files it may use that it does. Undefined: the parser gave no answer. */
  async of(graph: Graph, from: number): Promise<readonly number[] | undefined> {
    const file = graph.files[from] as TreeFile;
    const language = this.#index.languages.of(file);
    const targets = graph.edges.targetsBy(MAY_USE, from);
    // Where there is no grammar, words are only words.
    if (language === undefined || targets.length === 0) return [];
    const sketch = this.#index.words.of(file.oid);
    if (!sketch) return undefined;
    const named = targets.map((to) => ({ to, names: this.#namesOf({ graph, from: file, language, sketch }, to) }));
    const known = this.#known(file.oid);
    const unknown = new Set(named.flatMap(({ names }) => names.filter((name) => !known.has(name))));
    if (unknown.size > 0 && !(await this.#learn(file, language, { names: [...unknown], known }))) return undefined;
    return named.filter(({ names }) => names.some((name) => known.get(name) === true)).map(({ to }) => to);
  }

  #known(oid: Oid): Map<string, boolean> {
    const known = this.#kept.get(oid) ?? new Map<string, boolean>();
    this.#kept.set(oid, known);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MOST_KEPT && oldest !== undefined) this.#kept.delete(oldest);
    return known;
  }

  /** What the target defines, the words hold, and can mean no other: its only definer, or one of the same package. */
  #namesOf({ graph, from, language, sketch }: User, to: number): string[] {
    const target = graph.files[to] as TreeFile;
    const itsLanguage = this.#index.languages.of(target);
    const structure = itsLanguage && this.#index.structures.known(target, itsLanguage);
    if (!structure || 'skipped' in structure) return [];
    const isNear = isPackaged(language) && itsLanguage === language && dirname(target.path) === dirname(from.path);
    const names = structure.facts.definitions.flatMap(({ name }) => {
      const [hash] = wordHashes(name);
      const isMeant = hash !== undefined && holds(sketch, hash) && (isNear || graph.definers.only(hash) === to);
      return isMeant ? [name] : [];
    });
    return [...new Set(names)];
  }

  async #learn(
    file: TreeFile,
    language: Language,
    { names, known }: { names: readonly string[]; known: Map<string, boolean> },
  ): Promise<boolean> {
    const bytes = readRegular(join(this.#index.tree.place.toplevel, file.path), MAX_BYTES)?.bytes;
    const hits = bytes
      ? names.flatMap((name) =>
          [...wordHits(bytes, { name, isDollarInNames: hasDollarNames(language) })]
            .slice(0, MOST_HITS)
            .map(({ line, column }) => ({ name, line, column })),
        )
      : [];
    const classes = bytes && hits.length > 0 ? await ask(this.#index.parser, { source: bytes, language, hits }) : [];
    if (!classes) return false;
    for (const name of names) known.set(name, false);
    for (const [at, { name }] of hits.entries()) if (isUse(classes[at])) known.set(name, true);
    return true;
  }
}

interface User {
  graph: Graph;
  from: TreeFile;
  language: Language;
  sketch: Sketch;
}

/** A file no parser reads has no sure use of anything. */
async function ask(
  parser: CodeIndex['parser'],
  request: Parameters<CodeParser['classify']>[0],
): Promise<readonly HitClass[] | undefined> {
  const classes = await (await parser()).classify(request).catch(() => undefined);
  return classes && ('skipped' in classes ? [] : classes);
}

function isUse(found: HitClass | undefined): boolean {
  return found !== undefined && found.scope !== 'local' && ['call', 'type', 'import', 'usage'].includes(found.kind);
}
