import { dirname } from 'node:path';
import { readTree } from '../../../git/repository.ts';
import type { CodeIndex } from '../code-index.ts';
import { ImportPaths } from '../modules/import-paths.ts';
import type { Defined } from '../store/fact-table.ts';
import type { View } from '../tree/view.ts';
import type { TreeFile } from '../tree/worktree-tree.ts';
import type { Sketch } from '../words/sketch.ts';
import { isPackaged } from './confidence.ts';
import { DefinerList, type Definers } from './definers.ts';
import { Edges, IMPORTS, MAY_USE, pageRank } from './edges.ts';
import { SlicesOfTime } from './slices-of-time.ts';

const RANK_VERSION = 'rank-1';

export interface Graph {
  view: View;
  /** Files by number, in the order of their paths. */
  paths: readonly string[];
  files: readonly TreeFile[];
  numberOf: ReadonlyMap<string, number>;
  edges: Edges;
  definers: Definers;
  base: Float64Array;
}

/** Which file uses which, and how much each matters. Built when first needed, kept while the map is the same. */
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
    const links = await this.#read(view, numberOf);
    const edges = await this.#link(view, numberOf, links);
    return {
      view,
      paths,
      files: paths.map((path) => view.files.get(path) as TreeFile),
      numberOf,
      definers: links.definers,
      edges,
      base: await this.#baseRank(view, edges, paths),
    };
  }

  /** What each file defines and imports, by name: whole facts of a large repository would not fit into memory. */
  async #read(view: View, numberOf: ReadonlyMap<string, number>): Promise<Links> {
    const { store, languages } = this.#index;
    const resolver = new ImportPaths(this.#index, view);
    const definers = new DefinerList();
    const imports = new Map<number, Set<number>>();
    const slices = new SlicesOfTime();
    const take = ({ oid, lang, names, imports: sources }: Defined) => {
      for (const file of view.withBlob(oid)) {
        if (languages.of(file) !== lang) continue;
        const number = numberOf.get(file.path) as number;
        for (const name of names) definers.add(name, number);
        const found = sources.flatMap((source) => resolver.resolve(file.path, lang, source));
        if (found.length > 0) imports.set(number, new Set(found.map((path) => numberOf.get(path) as number)));
      }
    };
    for (const defined of store.definedInMemory()) take(defined);
    for (const defined of store.defined(0)) {
      take(defined);
      await slices.pause();
    }
    return { definers: definers.finish(), imports };
  }

  /** Adds an edge where a file's words hold a name that another file defines. */
  async #link(view: View, numberOf: ReadonlyMap<string, number>, { definers, imports }: Links): Promise<Edges> {
    const edges = new Edges(view.paths.length);
    const packages = this.#packages(view);
    const slices = new SlicesOfTime();
    for (const { oid, sketch } of this.#index.words.each(view.oids)) {
      const { weights, unique, shared } = namesUsed(sketch, definers);
      for (const { path } of view.withBlob(oid)) {
        const from = numberOf.get(path) as number;
        const near = packages[from];
        const mayUse = (to: number) =>
          unique.has(to) || (near !== undefined && shared.has(to) && packages[to] === near);
        const imported = imports.get(from) ?? new Set();
        const kindOf = (to: number) => (imported.has(to) ? IMPORTS : 0) | (mayUse(to) ? MAY_USE : 0);
        edges.add(from, weightsFrom(from, weights, imported), kindOf);
      }
      await slices.pause();
    }
    return edges;
  }

  /** The package of each file: a folder and language whose files see each other's names without an import. */
  #packages(view: View): (string | undefined)[] {
    return view.paths.map((path) => {
      const language = this.#index.languages.of(view.files.get(path) as TreeFile);
      return language !== undefined && isPackaged(language) ? `${language} ${dirname(path)}` : undefined;
    });
  }

  /** The extractors of all languages here as one text: another extractor makes other definitions. */
  #extractors(view: View): string {
    const languages = new Set([...view.files.values()].map((file) => this.#index.languages.of(file)));
    const versions = [...languages].flatMap((each) => (each ? `${each}-${this.#index.languages.extractor(each)}` : []));
    return [RANK_VERSION, ...versions.sort()].join(' ');
  }

  /** The rank of a clean and complete index is kept by HEAD's tree and the extractors. */
  async #baseRank(view: View, edges: Edges, paths: readonly string[]): Promise<Float64Array> {
    const isKeepable = view.localCount === 0 && this.#index.pendingStructures === 0 && view.head !== '';
    if (!isKeepable) return pageRank(edges);
    const tree = await readTree(this.#index.git, this.#index.tree.checkout, view.head);
    const extractor = this.#extractors(view);
    const kept = this.#index.store.look(({ registry }) => registry.baseRank(tree, extractor), undefined);
    if (kept && kept.byteLength === paths.length * 8) return new Float64Array(Uint8Array.from(kept).buffer);
    const rank = pageRank(edges);
    this.#index.store.write(({ registry }) => registry.keepBaseRank(tree, extractor, new Uint8Array(rank.buffer)));
    return rank;
  }
}

/** The files whose names a sketch holds: `unique` define one of them alone, `shared` together with others. */
function namesUsed(sketch: Sketch, definers: Definers) {
  const weights = new Map<number, number>();
  const unique = new Set<number>();
  const shared = new Set<number>();
  for (const hash of sketch) {
    const named = definers.of(hash);
    if (named === undefined) continue;
    const { files, weight } = named;
    for (const file of files) {
      weights.set(file, (weights.get(file) ?? 0) + weight);
      (files.length === 1 ? unique : shared).add(file);
    }
  }
  return { weights, unique, shared };
}

/** What is imported counts double. */
function weightsFrom(from: number, used: ReadonlyMap<number, number>, imported: ReadonlySet<number>) {
  const weights = new Map<number, number>();
  for (const [to, weight] of used) if (to !== from) weights.set(to, imported.has(to) ? weight * 2 : weight);
  for (const to of imported) if (!used.has(to)) weights.set(to, 1);
  return weights;
}

interface Links {
  definers: Definers;
  imports: ReadonlyMap<number, ReadonlySet<number>>;
}
