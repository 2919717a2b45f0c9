import type { Oid } from '../../../git/ref-name.ts';
import { holds, type Sketch } from '../words/sketch.ts';
import type { FactStore } from './fact-store.ts';
import { toSketch } from './fact-table.ts';

/** More than this stays in the store and is scanned there. */
const MOST_LOADED_BYTES = 64 * 1024 * 1024;

const SLAB_WORDS = 256 * 1024;

type Store = Pick<FactStore, 'sketches' | 'hasSketches' | 'sketchBytes' | 'body'>;

/** One bit would do, a byte is quicker. */
const FILTER_SIZE = 1 << 16;

/** The sketches of one worktree's blobs: kept as they are made, else loaded at the first question; dropped when memory is short. */
export class WordIndex {
  readonly #store: Store;
  readonly #mostLoaded: number;
  #loaded = new Map<Oid, Sketch>();
  #slabs = new Slabs();
  #isLoaded: boolean;

  constructor(store: Store, mostLoaded = MOST_LOADED_BYTES) {
    this.#store = store;
    this.#mostLoaded = mostLoaded;
    this.#isLoaded = !store.hasSketches();
  }

  /** Returns the sketch where it is kept. */
  add(oid: Oid, sketch: Sketch): Sketch {
    if (!this.#isLoaded) return sketch;
    const kept = this.#keep(oid, sketch);
    if (this.#slabs.bytes > this.#mostLoaded) this.unload();
    return kept;
  }

  /** Drops the names; the next question reads them again. */
  unload(): void {
    this.#loaded = new Map();
    this.#slabs = new Slabs();
    this.#isLoaded = false;
  }

  /** For each hash, the blobs among the given whose sketch holds it. Blobs without a sketch are in none. */
  holding(hashes: readonly number[], among: ReadonlySet<Oid>): Set<Oid>[] {
    const found = hashes.map((hash) => ({ hash, oids: new Set<Oid>() }));
    const look = (oid: Oid, sketch: Sketch) => {
      for (const { hash, oids } of found) if (holds(sketch, hash)) oids.add(oid);
    };
    if (found.length > 0) this.#visit(among, look);
    return found.map(({ oids }) => oids);
  }

  /** How many of the blobs hold each hash: one pass over all sketches, whatever the number of hashes. */
  countHolders(hashes: Iterable<number>, among: ReadonlySet<Oid>): Map<number, number> {
    const counts = new Map<number, number>();
    const isAsked = new Uint8Array(FILTER_SIZE);
    for (const hash of hashes) {
      counts.set(hash, 0);
      isAsked[hash % FILTER_SIZE] = 1;
    }
    this.#visit(among, (_, sketch) => {
      for (const hash of sketch) {
        const count = isAsked[hash % FILTER_SIZE] === 1 ? counts.get(hash) : undefined;
        if (count !== undefined) counts.set(hash, count + 1);
      }
    });
    return counts;
  }

  /** The sketch of one blob, if there is one. */
  of(oid: Oid): Sketch | undefined {
    const body = this.#loaded.has(oid) ? undefined : this.#store.body({ oid, lang: '', stage: 1 });
    return this.#loaded.get(oid) ?? (body && toSketch(body.data));
  }

  /** One by one, for whoever pauses in between. */
  *each(among: ReadonlySet<Oid>): Generator<{ oid: Oid; sketch: Sketch }> {
    if (this.#isTooLarge()) {
      for (const each of this.#store.sketches()) if (among.has(each.oid)) yield each;
      return;
    }
    this.#load(among);
    for (const oid of among) {
      const sketch = this.#loaded.get(oid) ?? this.#fetch(oid);
      if (sketch) yield { oid, sketch };
    }
  }

  /** The same, and quicker by half. */
  #visit(among: ReadonlySet<Oid>, look: (oid: Oid, sketch: Sketch) => void): void {
    if (this.#isTooLarge()) {
      for (const { oid, sketch } of this.#store.sketches()) if (among.has(oid)) look(oid, sketch);
      return;
    }
    this.#load(among);
    for (const oid of among) {
      const sketch = this.#loaded.get(oid) ?? this.#fetch(oid);
      if (sketch) look(oid, sketch);
    }
  }

  #isTooLarge(): boolean {
    return !this.#isLoaded && this.#store.sketchBytes() > this.#mostLoaded;
  }

  #load(among: ReadonlySet<Oid>): void {
    if (this.#isLoaded) return;
    this.#isLoaded = true;
    for (const { oid, sketch } of this.#store.sketches()) if (among.has(oid)) this.#keep(oid, sketch);
  }

  /** Another server extracted it since. */
  #fetch(oid: Oid): Sketch | undefined {
    const body = this.#store.body({ oid, lang: '', stage: 1 });
    if (!body) return undefined;
    return this.#keep(oid, toSketch(body.data));
  }

  #keep(oid: Oid, sketch: Sketch): Sketch {
    const kept = this.#slabs.copy(sketch);
    this.#loaded.set(oid, kept);
    return kept;
  }
}

/** Many small arrays in a few large ones: memory of its own costs each a quarter of what is in it. */
class Slabs {
  #slab = new Uint32Array();
  #used = 0;
  /** Of what was copied. */
  bytes = 0;

  copy(sketch: Sketch): Sketch {
    if (this.#used + sketch.length > this.#slab.length) {
      this.#slab = new Uint32Array(Math.max(SLAB_WORDS, sketch.length));
      this.#used = 0;
    }
    const copy = this.#slab.subarray(this.#used, this.#used + sketch.length);
    copy.set(sketch);
    this.#used += sketch.length;
    this.bytes += sketch.byteLength;
    return copy;
  }
}
