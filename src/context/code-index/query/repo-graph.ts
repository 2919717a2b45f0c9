import { dirname } from 'node:path';
import { readTree } from '../../../git/repository.ts';
import type { FileFacts } from '../../lang/contract.ts';
import type { CodeIndex } from '../code-index.ts';
import type { View } from '../tree/view.ts';
import type { TreeFile } from '../tree/worktree-tree.ts';
import { type Sketch, wordHashes } from '../words/sketch.ts';
import { isPackaged } from './confidence.ts';
import { ImportPaths } from './import-paths.ts';
import { EdgeList, type Edges, pageRank } from './page-rank.ts';
import { SlicesOfTime } from './slices-of-time.ts';

/** A name defined in so many files tells nothing about which is meant. */
const MOST_DEFINERS = 20;
const FEW_DEFINERS = 5;
const LONG_NAME = 8;
const RANK_VERSION = 'rank-1';

export interface Graph {
  version: number;
  /** Files by number, in the order of their paths. */
  paths: readonly string[];
  files: readonly TreeFile[];
  numberOf: ReadonlyMap<string, number>;
  edges: Edges;
  /** File numbers each file imports. */
  imports: readonly (readonly number[])[];
  /** Files that define a name each file has among its words and that means no other: candidates, a comment makes one too. */
  uses: readonly (readonly number[])[];
  /** Names that one file alone defines, as ascending hashes, and which file that is. */
  only: { hashes: Uint32Array; definers: Uint32Array };
  base: Float64Array;
}

interface Read {
  file: TreeFile;
  facts: FileFacts;
}

/** Who uses whom in this worktree, and how much each file matters. Built at the first need, kept while the map is the same. */
export class RepoGraph {
  readonly #index: CodeIndex;
  #graph: Promise<Graph> | undefined;
  #key = '';

  constructor(index: CodeIndex) {
    this.#index = index;
  }

  unload(): void {
    this.#graph = undefined;
  }

  get(view: View): Promise<Graph> {
    const key = `${view.version} ${this.#index.pendingStructures === 0}`;
    if (this.#graph === undefined || this.#key !== key) {
      this.#key = key;
      this.#graph = this.#build(view).catch((error: unknown) => {
        this.#graph = undefined;
        throw error;
      });
    }
    return this.#graph;
  }

  async #build(view: View): Promise<Graph> {
    const paths = view.paths;
    const numberOf = new Map(paths.map((path, number) => [path, number]));
    const reads = await this.#read(view);
    const imports = resolveImports({ index: this.#index, view, numberOf }, reads);
    const definers = definersOf(reads, numberOf);
    const { edges, uses } = await this.#link({ view, numberOf, definers, imports });
    return {
      version: view.version,
      paths,
      files: paths.map((path) => view.files.get(path) as TreeFile),
      numberOf,
      only: onlyDefiners(definers),
      edges,
      imports,
      uses,
      base: await this.#baseRank(view, edges, paths),
    };
  }

  async #read(view: View): Promise<Read[]> {
    const reads: Read[] = [];
    const slices = new SlicesOfTime();
    for (const file of view.files.values()) {
      const language = this.#index.languages.of(file);
      const structure = language && this.#index.structures.known(file, language);
      if (structure && !('skipped' in structure)) reads.push({ file, facts: structure.facts });
      await slices.pause();
    }
    return reads;
  }

  /** An edge where a file's words hold a name another file defines (C-064). */
  async #link({ view, numberOf, definers, imports }: Linking): Promise<{ edges: Edges; uses: number[][] }> {
    const list = new EdgeList(view.paths.length);
    const uses: number[][] = view.paths.map(() => []);
    const slices = new SlicesOfTime();
    for (const { oid, sketch } of this.#index.words.each(view.oids)) {
      const { weights, unique, shared } = namesUsed(sketch, definers);
      for (const { path } of view.withBlob(oid)) {
        const from = numberOf.get(path) as number;
        addEdges(list, { from, weights, imported: new Set(imports[from]) });
        const near = this.#packageOf(view.files.get(path) as TreeFile);
        const same = near === undefined ? [] : shared.filter((to) => near === this.#packageAt(view, to));
        uses[from] = [...new Set([...unique, ...same])].filter((to) => to !== from);
      }
      await slices.pause();
    }
    return { edges: list.finish(), uses };
  }

  /** The folder and language whose files see each other's names without import. */
  #packageOf(file: TreeFile): string | undefined {
    const language = this.#index.languages.of(file);
    return language !== undefined && isPackaged(language) ? `${language} ${dirname(file.path)}` : undefined;
  }

  #packageAt(view: View, number: number): string | undefined {
    return this.#packageOf(view.files.get(view.paths[number] as string) as TreeFile);
  }

  /** One text for the extractors of all languages here: another of them makes other definitions. */
  #extractors(view: View): string {
    const languages = new Set([...view.files.values()].map((file) => this.#index.languages.of(file)));
    const versions = [...languages].flatMap((each) => (each ? `${each}-${this.#index.languages.extractor(each)}` : []));
    return [RANK_VERSION, ...versions.sort()].join(' ');
  }

  /** Kept by HEAD's tree and the extractors alone: no word of a question is in its key. Only a clean, complete index is kept. */
  async #baseRank(view: View, edges: Edges, paths: readonly string[]): Promise<Float64Array> {
    const isKeepable = view.localCount === 0 && this.#index.pendingStructures === 0 && view.head !== '';
    if (!isKeepable) return pageRank(edges);
    const tree = await readTree(this.#index.git, this.#index.tree.place, view.head);
    const extractor = this.#extractors(view);
    const kept = this.#index.store.look(({ registry }) => registry.baseRank(tree, extractor), undefined);
    if (kept && kept.byteLength === paths.length * 8) return new Float64Array(Uint8Array.from(kept).buffer);
    const rank = pageRank(edges);
    this.#index.store.write(({ registry }) => registry.keepBaseRank(tree, extractor, new Uint8Array(rank.buffer)));
    return rank;
  }
}

/** The files whose names a sketch holds: those that alone define one of them, and those that share it with others. */
function namesUsed(sketch: Sketch, definers: ReadonlyMap<number, Definers>) {
  const weights = new Map<number, number>();
  const unique = new Set<number>();
  const shared = new Set<number>();
  for (const hash of sketch) {
    const named = definers.get(hash);
    for (const number of named?.files ?? []) weights.set(number, (weights.get(number) ?? 0) + (named?.weight ?? 0));
    if (named?.files.length === 1) unique.add(named.files[0] as number);
    else for (const number of named?.files ?? []) shared.add(number);
  }
  return { weights, unique: [...unique], shared: [...shared] };
}

interface Outgoing {
  from: number;
  weights: ReadonlyMap<number, number>;
  imported: ReadonlySet<number>;
}

/** What is imported counts double. */
function addEdges(list: EdgeList, { from, weights, imported }: Outgoing): void {
  for (const [to, weight] of weights) if (to !== from) list.add(from, to, imported.has(to) ? weight * 2 : weight);
  for (const to of imported) if (!weights.has(to)) list.add(from, to, 1);
}

interface Definers {
  files: number[];
  weight: number;
}

interface Linking {
  view: View;
  numberOf: ReadonlyMap<string, number>;
  definers: ReadonlyMap<number, Definers>;
  imports: readonly (readonly number[])[];
}

function resolveImports(
  { index, view, numberOf }: { index: CodeIndex; view: View; numberOf: ReadonlyMap<string, number> },
  reads: readonly Read[],
): number[][] {
  const resolver = new ImportPaths(view);
  const imports: number[][] = view.paths.map(() => []);
  for (const { file, facts } of reads) {
    const language = index.languages.of(file);
    if (!language) continue;
    const found = facts.imports.flatMap(({ source }) => resolver.resolve(file.path, language, source));
    const numbers = new Set(found.map((path) => numberOf.get(path) as number));
    imports[numberOf.get(file.path) as number] = [...numbers];
  }
  return imports;
}

function definersOf(reads: readonly Read[], numberOf: ReadonlyMap<string, number>): Map<number, Definers> {
  const files = new Map<string, Set<number>>();
  for (const { file, facts } of reads) {
    for (const { name, kind } of facts.definitions) {
      if (kind === 'import') continue;
      const same = files.get(name) ?? new Set<number>();
      files.set(name, same.add(numberOf.get(file.path) as number));
    }
  }
  const definers = new Map<number, Definers>();
  for (const [name, numbers] of files) {
    const [hash] = wordHashes(name);
    if (hash !== undefined && numbers.size <= MOST_DEFINERS)
      definers.set(hash, { files: [...numbers], weight: weightOf(name, numbers.size) });
  }
  return definers;
}

function onlyDefiners(definers: ReadonlyMap<number, Definers>): Graph['only'] {
  const alone = [...definers].filter(([, { files }]) => files.length === 1).sort(([a], [b]) => a - b);
  return {
    hashes: Uint32Array.from(alone, ([hash]) => hash),
    definers: Uint32Array.from(alone, ([, { files }]) => files[0] as number),
  };
}

/** The one file that defines the name of this hash. */
export function onlyDefiner({ only: { hashes, definers } }: Pick<Graph, 'only'>, hash: number): number | undefined {
  let low = 0;
  for (let high = hashes.length; low < high; ) {
    const middle = (low + high) >>> 1;
    if ((hashes[middle] as number) < hash) low = middle + 1;
    else high = middle;
  }
  return hashes[low] === hash ? definers[low] : undefined;
}

function weightOf(name: string, definers: number): number {
  const isCompound = /[a-z0-9][A-Z]|[A-Za-z0-9]_[A-Za-z0-9]/.test(name) && name.length >= LONG_NAME;
  const isVague = name.startsWith('_') || definers > FEW_DEFINERS;
  return (1 / definers) * (isCompound ? 10 : 1) * (isVague ? 0.1 : 1);
}
