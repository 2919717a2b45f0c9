/** Scales a vector to length 1. */
export function normalised(vector: Float32Array): Float32Array {
  let square = 0;
  for (const value of vector) square += value * value;
  const length = Math.sqrt(square);
  return length === 0 ? vector : vector.map((value) => value / length);
}

/** Packs a vector for storage: one scale, then a signed byte per dimension. It takes a quarter of the size and keeps the ranking. */
export function packVector(vector: Float32Array): Buffer {
  let greatest = 0;
  for (const value of vector) greatest = Math.max(greatest, Math.abs(value));
  const scale = greatest / 127 || 1;
  const packed = Buffer.alloc(4 + vector.length);
  packed.writeFloatLE(scale, 0);
  for (const [index, value] of vector.entries()) packed.writeInt8(Math.round(value / scale), 4 + index);
  return packed;
}

export class VectorBlock {
  readonly #dimensions: number;
  readonly #ids: number[] = [];
  readonly #scales: number[] = [];
  #values: Int8Array;

  constructor(dimensions: number, expected: number) {
    this.#dimensions = dimensions;
    this.#values = new Int8Array(dimensions * Math.max(1, expected));
  }

  /** Skips vectors with other dimensions: another model made them. */
  add(id: number, packed: Buffer): void {
    if (packed.length !== 4 + this.#dimensions) return;
    const at = this.#ids.length * this.#dimensions;
    if (at + this.#dimensions > this.#values.length) this.#grow();
    this.#values.set(new Int8Array(packed.buffer, packed.byteOffset + 4, this.#dimensions), at);
    this.#ids.push(id);
    this.#scales.push(packed.readFloatLE(0));
  }

  /** The ids nearest to a vector, best first. It reads only the dimensions that the question uses. */
  nearest(query: Float32Array, count: number): number[] {
    const slots = Array.from(query.keys()).filter((slot) => query[slot] !== 0);
    const weights = slots.map((slot) => query[slot] ?? 0);
    const best: { id: number; score: number }[] = [];
    for (const [index, id] of this.#ids.entries()) {
      const score = this.#dot(index, slots, weights) * (this.#scales[index] ?? 0);
      if (score > 0) keep(best, { id, score }, count);
    }
    return best.map(({ id }) => id);
  }

  #dot(index: number, slots: readonly number[], weights: readonly number[]): number {
    const values = this.#values;
    const base = index * this.#dimensions;
    let sum = 0;
    for (let n = 0; n < slots.length; n += 1)
      sum += (weights[n] as number) * (values[base + (slots[n] as number)] as number);
    return sum;
  }

  #grow(): void {
    const larger = new Int8Array(this.#values.length * 2);
    larger.set(this.#values);
    this.#values = larger;
  }
}

function keep(best: { id: number; score: number }[], hit: { id: number; score: number }, count: number): void {
  const last = best[best.length - 1];
  if (best.length === count && last && last.score >= hit.score) return;
  let at = best.length;
  while (at > 0 && (best[at - 1]?.score ?? 0) < hit.score) at -= 1;
  best.splice(at, 0, hit);
  if (best.length > count) best.pop();
}
