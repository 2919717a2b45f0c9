import type { CodeIndex } from '../code-index.ts';
import { knownDefinitions } from '../query/definitions.ts';
import { pageRank } from '../query/edges.ts';
import type { Graph } from '../query/repo-graph.ts';
import { estimateTokens } from '../query/tokens.ts';
import type { TreeFile } from '../tree/worktree-tree.ts';

/** Steps by use or import from what was found. */
const DEPTH = 2;
const MOST_FILES = 60;
const MOST_NAMES = 8;

/** Files near those that were found, best first; without any, those that matter most. */
export function nearFiles(
  links: Graph,
  starts: ReadonlyMap<string, number>,
  isInside: (path: string) => boolean,
): TreeFile[] {
  const restart = new Map<number, number>();
  for (const [path, weight] of starts) {
    const number = links.numberOf.get(path);
    if (number !== undefined) restart.set(number, weight);
  }
  const rank = restart.size > 0 ? pageRank(links.edges, restart) : links.base;
  const isNear = restart.size > 0 ? reach(links.edges, restart.keys()) : () => true;
  const found: { file: TreeFile; value: number }[] = [];
  for (const [number, value] of rank.entries()) {
    const file = links.files[number] as TreeFile;
    if (isNear(number) && isInside(file.path)) found.push({ file, value });
  }
  found.sort((a, b) => b.value - a.value || (a.file.path < b.file.path ? -1 : 1));
  return found.slice(0, MOST_FILES).map(({ file }) => file);
}

/** Tells which files are near: rank flows on, but files further away say nothing about the question. */
function reach(edges: Graph['edges'], from: Iterable<number>): (node: number) => boolean {
  const isReached = new Uint8Array(edges.nodes);
  let last = [...from];
  for (const node of last) isReached[node] = 1;
  for (let depth = 0; depth < DEPTH; depth++) {
    const next: number[] = [];
    for (const node of last) {
      for (const to of edges.targetsOf(node)) {
        if (isReached[to] === 1) continue;
        isReached[to] = 1;
        next.push(to);
      }
    }
    last = next;
  }
  return (node) => isReached[node] === 1;
}

/** One line per file with its main definitions, as many as fit. */
export function fileLines(
  index: CodeIndex,
  files: readonly TreeFile[],
  room: number,
): { lines: string[]; tokens: number } {
  const lines: string[] = [];
  let tokens = 0;
  for (const file of files) {
    const top = knownDefinitions(index, file).filter(
      ({ container, kind }) => container === undefined && kind !== 'import',
    );
    const shown = [...new Set(top.map(({ name }) => name))].slice(0, MOST_NAMES);
    const line = shown.length > 0 ? `${file.path}: ${shown.join(', ')}` : file.path;
    const cost = estimateTokens(`${line}\n`);
    if (tokens + cost > room) break;
    tokens += cost;
    lines.push(line);
  }
  return { lines, tokens };
}
