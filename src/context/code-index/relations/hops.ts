import { dirname } from 'node:path';
import type { Oid } from '../../../git/ref-name.ts';
import type { CodeToolArgs, CodeToolResult, Hop } from '../../../protocol/code.ts';
import type { HitClass, Language } from '../../lang/contract.ts';
import type { CodeIndex } from '../code-index.ts';
import { ImportPaths } from '../modules/import-paths.ts';
import { isPackaged } from '../query/confidence.ts';
import { knownDefinitions } from '../query/definitions.ts';
import { type Edges, IMPORTS, MAY_USE } from '../query/edges.ts';
import { fileNotFound, pathInside } from '../query/paths.ts';
import type { Graph, RepoGraph } from '../query/repo-graph.ts';
import type { TreeFile } from '../tree/worktree-tree.ts';
import { hasDollarNames, wordHits } from '../words/hits.ts';
import { holds, type Sketch, wordHashes } from '../words/sketch.ts';
import { Resolver } from './resolver.ts';
import { isRelated, Sources } from './sources.ts';

const DEPTH = 2;
/** What is learned by then is kept, so the next caller gets further. */
const LEARN_MS = 3_000;
const AT_ONCE = 4;
const MAX_BYTES = 1024 * 1024;
const MOST_KEPT = 4_000;

/** The files that reach these, or are reached by them, nearest first. While not all are known: `unknown`, never too few. */
export async function hops(
  { index, graph, sure }: { index: CodeIndex; graph: RepoGraph; sure: SureUses },
  args: CodeToolArgs<'get_hops'>,
  ms = LEARN_MS,
): Promise<CodeToolResult<'get_hops'>> {
  const view = await index.view();
  const starts = args.files.map((given) => pathInside(index.tree.checkout.toplevel, given));
  for (const path of starts) if (!view.files.has(path)) throw fileNotFound(path, view);
  const unread = index.pending;
  const walk = unread > 0 ? undefined : new HopWalk(await graph.get(view), sure, performance.now() + ms);
  const found = await walk?.from(starts, args.depth ?? DEPTH);
  const pending = unread + (walk?.unlearned ?? 0);
  const basis = await index.basis({ pending, skipped: index.unparsable(view) }, view);
  return { files: pending > 0 || !found ? 'unknown' : found, basis };
}

type Via = Hop['via'];

/** Walks imports and sure uses both ways, breadth first. */
class HopWalk {
  readonly #graph: Graph;
  readonly #sure: SureUses;
  readonly #end: number;
  readonly #importers: Map<number, number[]>;
  readonly #maybeUsers: Map<number, number[]>;
  readonly #uses = new Map<number, readonly number[]>();
  /** Files whose uses could not be learned in time. */
  unlearned = 0;

  constructor(graph: Graph, sure: SureUses, end: number) {
    this.#graph = graph;
    this.#sure = sure;
    this.#end = end;
    this.#importers = reversed(graph.edges, IMPORTS);
    this.#maybeUsers = reversed(graph.edges, MAY_USE);
  }

  async from(starts: readonly string[], depth: number): Promise<Hop[]> {
    const { paths, edges, numberOf } = this.#graph;
    const found = new Map<number, Hop>();
    for (const path of starts) found.set(numberOf.get(path) as number, { file_path: path, distance: 0, via: 'start' });
    let edge = [...found.keys()];
    for (let distance = 1; distance <= depth; distance++) {
      await this.#learn(edge);
      const next: number[] = [];
      const reach = (numbers: readonly number[] | undefined, via: Via) => {
        for (const number of numbers ?? []) {
          if (found.has(number)) continue;
          found.set(number, { file_path: paths[number] as string, distance, via });
          next.push(number);
        }
      };
      for (const number of edge) {
        reach(edges.targetsBy(IMPORTS, number), 'import');
        reach(this.#importers.get(number), 'imported_by');
        reach(this.#uses.get(number), 'reference');
        reach(this.#usersOf(number), 'referenced_by');
      }
      edge = next;
    }
    return [...found.values()].sort((a, b) => a.distance - b.distance || (a.file_path < b.file_path ? -1 : 1));
  }

  #usersOf(number: number): number[] {
    return (this.#maybeUsers.get(number) ?? []).filter((user) => this.#uses.get(user)?.includes(number));
  }

  /** Finds what these files, and the files that may use them, really use. */
  async #learn(edge: readonly number[]): Promise<void> {
    const wanted = new Set(edge.flatMap((number) => [number, ...(this.#maybeUsers.get(number) ?? [])]));
    const queue = [...wanted].filter((number) => !this.#uses.has(number));
    const work = async () => {
      for (let number = queue.pop(); number !== undefined; number = queue.pop()) {
        const uses = performance.now() < this.#end ? await this.#sure.of(this.#graph, number) : undefined;
        if (uses) this.#uses.set(number, uses);
        else this.unlearned += 1;
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  }
}

function reversed(edges: Edges, kind: number): Map<number, number[]> {
  const back = new Map<number, number[]>();
  for (let from = 0; from < edges.nodes; from++) {
    for (const to of edges.targetsBy(kind, from)) {
      const known = back.get(to);
      if (known) known.push(from);
      else back.set(to, [from]);
    }
  }
  return back;
}

/** Of one name in one file: the first sure use settles it. */
const MOST_HITS = 200;

interface UseAt {
  line: number;
  column: number;
  isKey: boolean;
}

/**
 * Words say which files may use a file. A use is sure if the name stands in code and the rules of the language lead from there to that
 * file. Which words are uses is kept by content, so an edit elsewhere costs little here; where they lead is asked anew for each graph.
 */
export class SureUses {
  readonly #index: CodeIndex;
  readonly #kept = new Map<Oid, Map<string, readonly UseAt[]>>();
  #walk: { graph: Graph; sources: Sources; resolver: Resolver } | undefined;

  constructor(index: CodeIndex) {
    this.#index = index;
  }

  forget(): void {
    this.#kept.clear();
    this.#walk = undefined;
  }

  /** Which of the files it may use it really uses. Undefined: the parser gave no answer. */
  async of(graph: Graph, from: number): Promise<readonly number[] | undefined> {
    const file = graph.files[from] as TreeFile;
    const language = this.#index.languages.of(file);
    const targets = graph.edges.targetsBy(MAY_USE, from);
    // Without a grammar a word is only a word.
    if (language === undefined || targets.length === 0) return [];
    const sketch = this.#index.words.of(file.oid);
    if (!sketch) return undefined;
    const named = targets.map((to) => ({ to, names: this.#namesOf(graph, to, file, sketch) }));
    const known = this.#known(file.oid);
    const unknown = new Set(named.flatMap(({ names }) => names.filter((name) => !known.has(name))));
    if (unknown.size > 0 && !(await this.#learn(file, language, unknown, known))) return undefined;
    const used: number[] = [];
    for (const { to, names } of named) {
      const target = graph.paths[to] as string;
      if (await this.#leads(graph, { file, target, names, known })) used.push(to);
    }
    return used;
  }

  async #leads(
    graph: Graph,
    {
      file,
      target,
      names,
      known,
    }: { file: TreeFile; target: string; names: readonly string[]; known: ReadonlyMap<string, readonly UseAt[]> },
  ): Promise<boolean> {
    const { sources, resolver } = this.#walkOn(graph);
    for (const name of names) {
      const uses = known.get(name) ?? [];
      const source = uses.length > 0 ? await sources.of(file.path) : undefined;
      if (!source) continue;
      for (const { isKey, ...place } of uses) {
        const meaning = await resolver.meaning(
          { source, name, line: place.line, index: source.lines.index(place) },
          isKey,
        );
        if (typeof meaning !== 'string' && meaning.definitions.some((each) => each.file.path === target)) return true;
      }
    }
    return false;
  }

  #walkOn(graph: Graph) {
    if (this.#walk?.graph !== graph) {
      const sources = new Sources(this.#index, graph.view);
      this.#walk = { graph, sources, resolver: new Resolver(sources, new ImportPaths(this.#index, graph.view)) };
    }
    return this.#walk;
  }

  #known(oid: Oid): Map<string, readonly UseAt[]> {
    const known = this.#kept.get(oid) ?? new Map<string, readonly UseAt[]>();
    this.#kept.set(oid, known);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MOST_KEPT && oldest !== undefined) this.#kept.delete(oldest);
    return known;
  }

  /** Names of the target that the file's words hold and that mean no other file: it alone defines them, or shares the package. */
  #namesOf(graph: Graph, to: number, from: TreeFile, sketch: Sketch): string[] {
    const { languages } = this.#index;
    const target = graph.files[to] as TreeFile;
    const [language, other] = [languages.of(target), languages.of(from)];
    if (language === undefined || other === undefined || !isRelated(language, other)) return [];
    const isNear = language === other && isPackaged(language) && dirname(target.path) === dirname(from.path);
    const names = knownDefinitions(this.#index, target).flatMap(({ name }) => {
      const [hash] = wordHashes(name);
      const isMeant = hash !== undefined && holds(sketch, hash) && (isNear || graph.definers.only(hash) === to);
      return isMeant ? [name] : [];
    });
    return [...new Set(names)];
  }

  /** False: the parser gave no answer. A file that no parser reads has no sure use of anything. */
  async #learn(
    file: TreeFile,
    language: Language,
    names: ReadonlySet<string>,
    known: Map<string, readonly UseAt[]>,
  ): Promise<boolean> {
    const source = this.#index.tree.read(file.path, undefined, MAX_BYTES)?.bytes ?? Buffer.alloc(0);
    const isDollarInNames = hasDollarNames(language);
    const hits = [...names].flatMap((name) => {
      const places = [...wordHits(source, { name, isDollarInNames })].slice(0, MOST_HITS);
      return places.map(({ line, column }) => ({ name, line, column }));
    });
    const parser = await this.#index.parser();
    const answer = hits.length > 0 ? await parser.classify({ source, language, hits }).catch(() => undefined) : [];
    if (!answer) return false;
    const classes = 'skipped' in answer ? [] : answer;
    const uses = hits.map((hit, at) => ({ ...hit, found: classes[at] }));
    for (const name of names) {
      const own = uses.filter((use) => use.name === name && isUse(use.found));
      known.set(
        name,
        own.map(({ line, column, found }) => ({ line, column, isKey: found?.isMember === true })),
      );
    }
    return true;
  }
}

function isUse(found: HitClass | undefined): boolean {
  return found !== undefined && found.scope !== 'local' && ['call', 'type', 'usage'].includes(found.kind);
}
