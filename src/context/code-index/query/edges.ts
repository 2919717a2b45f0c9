/** Kinds of edges. A file may use another if its words include a name that the other defines, if only in a comment. */
export const IMPORTS = 1;
export const MAY_USE = 2;

interface Block {
  targets: Uint32Array;
  weights: Float32Array;
  kinds: Uint8Array;
}

/** A megabyte. One array for all would be copied as it grows, which would be the peak of a server's memory. */
const BLOCK_EDGES = 1 << 17;
const DAMPING = 0.85;
const ITERATIONS = 20;
const CLOSE_ENOUGH = 1e-7;

/** A weighted graph; the weights of a node sum to 1. In plain arrays, for there may be millions of edges. */
export class Edges {
  readonly nodes: number;
  readonly #blocks: Block[] = [];
  /** Of each node: the block of its edges, and where they begin and end in it. */
  readonly #blockOf: Uint32Array;
  readonly #begins: Uint32Array;
  readonly #ends: Uint32Array;
  /** Edges in the last block. */
  #used = 0;

  constructor(nodes: number) {
    this.nodes = nodes;
    this.#blockOf = new Uint32Array(nodes);
    this.#begins = new Uint32Array(nodes);
    this.#ends = new Uint32Array(nodes);
  }

  /** Adds all edges of a node at once, by their targets. */
  add(from: number, given: ReadonlyMap<number, number>, kindOf: (target: number) => number): void {
    if (given.size === 0) return;
    const { targets, weights, kinds } = this.#room(given.size);
    let sum = 0;
    for (const weight of given.values()) sum += weight;
    this.#blockOf[from] = this.#blocks.length - 1;
    this.#begins[from] = this.#used;
    for (const [to, weight] of given) {
      targets[this.#used] = to;
      kinds[this.#used] = kindOf(to);
      weights[this.#used++] = weight / sum;
    }
    this.#ends[from] = this.#used;
  }

  #room(count: number): Block {
    const last = this.#blocks.at(-1);
    if (last !== undefined && this.#used + count <= last.targets.length) return last;
    const size = Math.max(BLOCK_EDGES, count);
    const block = { targets: new Uint32Array(size), weights: new Float32Array(size), kinds: new Uint8Array(size) };
    this.#blocks.push(block);
    this.#used = 0;
    return block;
  }

  targetsOf(node: number): Uint32Array {
    const targets = this.#blocks[this.#blockOf[node] as number]?.targets ?? new Uint32Array();
    return targets.subarray(this.#begins[node], this.#ends[node]);
  }

  targetsBy(kind: number, node: number): number[] {
    const kinds = this.#blocks[this.#blockOf[node] as number]?.kinds;
    const begin = this.#begins[node] as number;
    return [...this.targetsOf(node)].filter((_, at) => ((kinds?.[begin + at] ?? 0) & kind) !== 0);
  }

  /** Each node gives its share of rank to its targets. In the order of the nodes, because sums of fractions depend on it. */
  flow(rank: Float64Array, next: Float64Array): void {
    for (let node = 0; node < this.nodes; node++) {
      const share = (rank[node] as number) * DAMPING;
      const end = this.#ends[node] as number;
      if (share === 0 || end === 0) continue;
      const { targets, weights } = this.#blocks[this.#blockOf[node] as number] as Block;
      for (let at = this.#begins[node] as number; at < end; at++) {
        const to = targets[at] as number;
        next[to] = (next[to] as number) + share * (weights[at] as number);
      }
    }
  }
}

/** `restart` weighs the nodes where a reader starts; without it all weigh the same. */
export function pageRank(edges: Edges, restart?: ReadonlyMap<number, number>): Float64Array {
  const begin = restartVector(edges.nodes, restart);
  let rank = Float64Array.from(begin);
  let next = new Float64Array(edges.nodes);
  for (let round = 0; round < ITERATIONS; round++) {
    edges.flow(rank, next.fill(0));
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
