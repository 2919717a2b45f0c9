import type { Edges } from './edges.ts';

const DAMPING = 0.85;
const ITERATIONS = 20;
const CLOSE_ENOUGH = 1e-7;

/** At most 20 rounds (C-064). `restart` says where a reader begins anew; all files alike without it. */
export function pageRank(edges: Edges, restart?: ReadonlyMap<number, number>): Float64Array {
  const begin = restartVector(edges.nodes, restart);
  let rank = Float64Array.from(begin);
  let next = new Float64Array(edges.nodes);
  for (let round = 0; round < ITERATIONS; round++) {
    edges.flow({ rank, next: next.fill(0), damping: DAMPING });
    let lost = 1;
    for (const value of next) lost -= value;
    let change = 0;
    for (let node = 0; node < edges.nodes; node++) {
      next[node] = (next[node] as number) + lost * (begin[node] as number);
      change += Math.abs((next[node] as number) - (rank[node] as number));
    }
    [rank, next] = [next, rank];
    if (change < CLOSE_ENOUGH) break;
  }
  return rank;
}

function restartVector(nodes: number, restart: ReadonlyMap<number, number> | undefined): Float64Array {
  const begin = new Float64Array(nodes);
  if (!restart || restart.size === 0) return begin.fill(1 / Math.max(1, nodes));
  const sum = [...restart.values()].reduce((total, weight) => total + weight, 0);
  for (const [node, weight] of restart) begin[node] = weight / sum;
  return begin;
}
