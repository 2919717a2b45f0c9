import type { CodeToolArgs, CodeToolResult, Hop } from '../../../protocol/code.ts';
import type { CodeIndex } from '../code-index.ts';
import { fileNotFound, pathInside } from './paths.ts';
import type { Graph, RepoGraph } from './repo-graph.ts';

const DEPTH = 2;

/** Files that reach these, or are reached by them, nearest first. Not all known yet: `unknown`, never too few (C-067). */
export async function hops(
  { index, graph }: { index: CodeIndex; graph: RepoGraph },
  args: CodeToolArgs<'get_hops'>,
): Promise<CodeToolResult<'get_hops'>> {
  const view = await index.view();
  const starts = args.files.map((given) => pathInside(index.tree.place.toplevel, given));
  for (const path of starts) if (!view.files.has(path)) throw fileNotFound(path, view);
  const pending = index.pendingWords + index.pendingStructures;
  const basis = await index.basis({ stage: pending > 0 ? 1 : 2, complete: pending === 0, pending, skipped: 0 }, view);
  if (pending > 0) return { files: 'unknown', basis };
  return { files: walk(await graph.get(view), starts, args.depth ?? DEPTH), basis };
}

type Via = Hop['via'];

function walk(graph: Graph, starts: readonly string[], depth: number): Hop[] {
  const found = new Map<number, Hop>();
  for (const path of starts)
    found.set(graph.numberOf.get(path) as number, { file_path: path, distance: 0, via: 'start' });
  const [importers, users] = [reversed(graph.imports), reversed(graph.uses)];
  let edge = [...found.keys()];
  for (let distance = 1; distance <= depth; distance++) {
    const next: number[] = [];
    const reach = (numbers: readonly number[] | undefined, via: Via) => {
      for (const number of numbers ?? []) {
        if (found.has(number)) continue;
        found.set(number, { file_path: graph.paths[number] as string, distance, via });
        next.push(number);
      }
    };
    for (const number of edge) {
      reach(graph.imports[number], 'import');
      reach(importers.get(number), 'imported_by');
      reach(graph.uses[number], 'reference');
      reach(users.get(number), 'referenced_by');
    }
    edge = next;
  }
  return [...found.values()].sort((a, b) => a.distance - b.distance || (a.file_path < b.file_path ? -1 : 1));
}

function reversed(lists: readonly (readonly number[])[]): Map<number, number[]> {
  const back = new Map<number, number[]>();
  for (const [from, targets] of lists.entries()) {
    for (const to of targets) back.set(to, [...(back.get(to) ?? []), from]);
  }
  return back;
}
