const DAMPING = 0.85;
const ITERATIONS = 20;
const CLOSE_ENOUGH = 1e-7;

/** A weighted graph: the edges of node n are from `starts[n]` to `starts[n + 1]`; weights of a node sum to 1. */
export interface Edges {
  nodes: number;
  starts: Uint32Array;
  targets: Uint32Array;
  weights: Float32Array;
}

/** Edges as they come, those of one node together; in plain arrays, for there may be millions. */
export class EdgeList {
  readonly #nodes: number;
  readonly #begins: Uint32Array;
  readonly #ends: Uint32Array;
  #targets = new Uint32Array(1 << 12);
  #weights = new Float32Array(1 << 12);
  #count = 0;

  constructor(nodes: number) {
    this.#nodes = nodes;
    this.#begins = new Uint32Array(nodes);
    this.#ends = new Uint32Array(nodes);
  }

  /** All edges of a node. */
  add(from: number, edges: Iterable<readonly [to: number, weight: number]>): void {
    this.#begins[from] = this.#count;
    for (const [to, weight] of edges) {
      if (this.#count === this.#targets.length) this.#grow();
      this.#targets[this.#count] = to;
      this.#weights[this.#count] = weight;
      this.#count += 1;
    }
    this.#ends[from] = this.#count;
  }

  #grow(): void {
    const [targets, weights] = [this.#targets, this.#weights];
    this.#targets = new Uint32Array(2 * this.#count);
    this.#weights = new Float32Array(2 * this.#count);
    this.#targets.set(targets);
    this.#weights.set(weights);
  }

  finish(): Edges {
    const nodes = this.#nodes;
    const edges = {
      nodes,
      starts: new Uint32Array(nodes + 1),
      targets: new Uint32Array(this.#count),
      weights: new Float32Array(this.#count),
    };
    let at = 0;
    for (let node = 0; node < nodes; node++) {
      edges.starts[node] = at;
      const [begin, end] = [this.#begins[node], this.#ends[node]];
      const own = this.#weights.subarray(begin, end);
      edges.targets.set(this.#targets.subarray(begin, end), at);
      const sum = own.reduce((total, weight) => total + weight, 0);
      for (const weight of own) edges.weights[at++] = weight / sum;
    }
    edges.starts[nodes] = at;
    return edges;
  }
}

/** At most 20 rounds (C-064). `restart` says where a reader begins anew; all files alike without it. */
export function pageRank(edges: Edges, restart?: ReadonlyMap<number, number>): Float64Array {
  const begin = restartVector(edges.nodes, restart);
  let rank = Float64Array.from(begin);
  let next = new Float64Array(edges.nodes);
  for (let round = 0; round < ITERATIONS; round++) {
    flow(edges, rank, next.fill(0));
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

function flow({ nodes, starts, targets, weights }: Edges, rank: Float64Array, next: Float64Array): void {
  for (let node = 0; node < nodes; node++) {
    const share = (rank[node] as number) * DAMPING;
    if (share === 0) continue;
    const end = starts[node + 1] as number;
    for (let at = starts[node] as number; at < end; at++) {
      const to = targets[at] as number;
      next[to] = (next[to] as number) + share * (weights[at] as number);
    }
  }
}
