import { wordHashes } from '../words/sketch.ts';

/** A name with more definers does not tell which is meant. */
const MOST_DEFINERS = 20;
const FEW_DEFINERS = 5;
const LONG_NAME = 8;

/** Hash (32 bits), file (19) and flags (2) share one number, so that all are sorted at once. */
const FLAGS = 4;
const FILES = 2 ** 19;
const COMPOUND = 2;
const PRIVATE = 1;
const BUCKETS = 2 ** 16;

export class DefinerList {
  #pairs = new Float64Array(1 << 12);
  #count = 0;

  add(name: string, file: number): void {
    const [hash] = wordHashes(name);
    if (hash === undefined || file >= FILES) return;
    if (this.#count === this.#pairs.length) {
      const grown = new Float64Array(2 * this.#count);
      grown.set(this.#pairs);
      this.#pairs = grown;
    }
    this.#pairs[this.#count++] = (hash * FILES + file) * FLAGS + flagsOf(name);
  }

  finish(): Definers {
    return new Definers(this.#pairs.subarray(0, this.#count).sort());
  }
}

function flagsOf(name: string): number {
  const isCompound = /[a-z0-9][A-Z]|[A-Za-z0-9]_[A-Za-z0-9]/.test(name) && name.length >= LONG_NAME;
  return (isCompound ? COMPOUND : 0) + (name.startsWith('_') ? PRIVATE : 0);
}

/** The files that define each name, by its hash in a sketch. In plain arrays, for there may be half a million names. */
export class Definers {
  readonly #hashes: Uint32Array;
  readonly #weights: Float32Array;
  /** The definers of name n are the files from `starts[n]` to `starts[n + 1]`. */
  readonly #starts: Uint32Array;
  readonly #files: Uint32Array;
  /** Where the hashes with the same first 16 bits begin. */
  readonly #buckets = new Uint32Array(BUCKETS + 1);

  /** `pairs` in ascending order. */
  constructor(pairs: Float64Array) {
    const most = countNames(pairs);
    const hashes = new Uint32Array(most);
    const weights = new Float32Array(most);
    const starts = new Uint32Array(most + 1);
    const files = new Uint32Array(pairs.length);
    let [names, used] = [0, 0];
    for (let at = 0; at < pairs.length; ) {
      const hash = hashIn(pairs, at);
      const begin = used;
      const flags = (pairs[at] as number) % FLAGS;
      for (; at < pairs.length && hashIn(pairs, at) === hash; at++) {
        const file = Math.floor((pairs[at] as number) / FLAGS) % FILES;
        if (used === begin || files[used - 1] !== file) files[used++] = file;
      }
      if (used - begin > MOST_DEFINERS) {
        used = begin;
        continue;
      }
      hashes[names] = hash;
      weights[names] = weightOf(flags, used - begin);
      starts[names] = begin;
      names += 1;
    }
    starts[names] = used;
    this.#hashes = hashes.subarray(0, names);
    this.#weights = weights;
    this.#starts = starts;
    this.#files = files;
    for (const hash of this.#hashes)
      this.#buckets[(hash >>> 16) + 1] = (this.#buckets[(hash >>> 16) + 1] as number) + 1;
    for (let at = 0; at < BUCKETS; at++)
      this.#buckets[at + 1] = (this.#buckets[at + 1] as number) + (this.#buckets[at] as number);
  }

  /** Undefined: no file defines it, or too many do. */
  of(hash: number): { files: Uint32Array; weight: number } | undefined {
    const name = this.#find(hash);
    if (name === -1) return undefined;
    const files = this.#files.subarray(this.#starts[name], this.#starts[name + 1]);
    return { files, weight: this.#weights[name] as number };
  }

  /** The one file that defines the name of this hash. */
  only(hash: number): number | undefined {
    const files = this.of(hash)?.files;
    return files?.length === 1 ? files[0] : undefined;
  }

  #find(hash: number): number {
    const end = this.#buckets[(hash >>> 16) + 1] as number;
    for (let at = this.#buckets[hash >>> 16] as number; at < end; at++) if (this.#hashes[at] === hash) return at;
    return -1;
  }
}

function hashIn(pairs: Float64Array, at: number): number {
  return Math.floor((pairs[at] as number) / FLAGS / FILES);
}

/** Counts first, because copies to the right size would be the peak of a server's memory. */
function countNames(pairs: Float64Array): number {
  let names = 0;
  for (let at = 0; at < pairs.length; at++) if (at === 0 || hashIn(pairs, at) !== hashIn(pairs, at - 1)) names += 1;
  return names;
}

function weightOf(flags: number, definers: number): number {
  const isVague = flags % COMPOUND === PRIVATE || definers > FEW_DEFINERS;
  return (1 / definers) * (flags >= COMPOUND ? 10 : 1) * (isVague ? 0.1 : 1);
}
