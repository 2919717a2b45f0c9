import type { CodeToolArgs, CodeToolResult, Hop } from '../../../protocol/code.ts';
import type { CodeIndex } from '../code-index.ts';
import { type Edges, IMPORTS, MAY_USE } from './edges.ts';
import { fileNotFound, pathInside } from './paths.ts';
import type { Graph, RepoGraph } from './repo-graph.ts';
import type { SureUses } from './sure-uses.ts';

const DEPTH = 2;
/** What is told by then is kept, so the next asker gets further. */
const TELL_MS = 3_000;
const AT_ONCE = 4;

interface Hopping {
  index: CodeIndex;
  graph: RepoGraph;
  sure: SureUses;
}

/** Files that reach these, or are reached by them, nearest first. Not all known yet: `unknown`, never too few (C-067). */
export async function hops(
  { index, graph, sure }: Hopping,
  args: CodeToolArgs<'get_hops'>,
  ms = TELL_MS,
): Promise<CodeToolResult<'get_hops'>> {
  const view = await index.view();
  const starts = args.files.map((given) => pathInside(index.tree.place.toplevel, given));
  for (const path of starts) if (!view.files.has(path)) throw fileNotFound(path, view);
  const unread = index.pendingWords + index.pendingStructures;
  const walk = unread > 0 ? undefined : new Walk(await graph.get(view), { sure, end: performance.now() + ms });
  const found = await walk?.from(starts, args.depth ?? DEPTH);
  const pending = unread + (walk?.untold ?? 0);
  const skipped = index.unparsable(view);
  const complete = pending + skipped === 0;
  const basis = await index.basis({ stage: pending > 0 ? 1 : 2, complete, pending, skipped }, view);
  return { files: pending > 0 || !found ? 'unknown' : found, basis };
}

type Via = Hop['via'];

/** Breadth first over imports and sure uses, both ways. */
class Walk {
  readonly #graph: Graph;
  readonly #sure: SureUses;
  readonly #end: number;
  readonly #importers: Map<number, number[]>;
  readonly #maybeUsers: Map<number, number[]>;
  readonly #uses = new Map<number, readonly number[]>();
  /** Files whose uses could not be told in time. */
  untold = 0;

  constructor(graph: Graph, { sure, end }: { sure: SureUses; end: number }) {
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
      await this.#tell(edge);
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

  /** Finds out what these files and those that may use them do use. */
  async #tell(edge: readonly number[]): Promise<void> {
    const wanted = new Set(edge.flatMap((number) => [number, ...(this.#maybeUsers.get(number) ?? [])]));
    const queue = [...wanted].filter((number) => !this.#uses.has(number));
    const work = async () => {
      for (let number = queue.pop(); number !== undefined; number = queue.pop()) {
        const uses = performance.now() < this.#end ? await this.#sure.of(this.#graph, number) : undefined;
        if (uses) this.#uses.set(number, uses);
        else this.untold += 1;
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
