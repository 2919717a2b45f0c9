import type { Oid } from '../../../git/ref-name.ts';
import { holds, type Sketch } from '../words/sketch.ts';
import type { FactStore } from './fact-store.ts';
import { toSketch } from './fact-table.ts';

/** Larger stores are scanned on disk. */
const MOST_LOADED_BYTES = 64 * 1024 * 1024;
const SLAB_WORDS = 256 * 1024;
/** One byte each: a bit would do, but is slower. */
const FILTER_SIZE = 1 << 16;

/** The sketches of one worktree's blobs: kept as they are made, or loaded at the first question; dropped when memory is short. */
export class WordIndex {
  readonly #store: FactStore;
  #loaded = new Map<Oid, Sketch>();
  #slabs = new Slabs();
  #isLoaded: boolean;

  constructor(store: FactStore) {
    this.#store = store;
    this.#isLoaded = !store.hasSketches();
  }

  /** Returns the copy that is kept. */
  add(oid: Oid, sketch: Sketch): Sketch {
    if (!this.#isLoaded) return sketch;
    const kept = this.#keep(oid, sketch);
    if (this.#slabs.bytes > MOST_LOADED_BYTES) this.unload();
    return kept;
  }

  /** Drops the sketches; the next question reads them again. */
  unload(): void {
    this.#loaded = new Map();
    this.#slabs = new Slabs();
    this.#isLoaded = false;
  }

  /** For each hash, those of the given blobs whose sketch holds it. Blobs without a sketch are in none. */
  holding(hashes: readonly number[], among: ReadonlySet<Oid>): Set<Oid>[] {
    const found = hashes.map((hash) => ({ hash, oids: new Set<Oid>() }));
    if (found.length === 0) return [];
    this.#visit(among, (oid, sketch) => {
      for (const { hash, oids } of found) if (holds(sketch, hash)) oids.add(oid);
    });
    return found.map(({ oids }) => oids);
  }

  /** How many of the blobs hold each hash, in one pass over all sketches. */
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

  /** The sketch of one blob, if there is one. It is not kept. */
  of(oid: Oid): Sketch | undefined {
    return this.#loaded.get(oid) ?? this.#stored(oid);
  }

  #stored(oid: Oid): Sketch | undefined {
    const body = this.#store.body({ oid, lang: '', stage: 1 });
    return body && toSketch(body.data);
  }

  /** One by one, for callers that pause in between. */
  *each(among: ReadonlySet<Oid>): Generator<{ oid: Oid; sketch: Sketch }> {
    if (!this.#load(among)) {
      for (const each of this.#store.sketches()) if (among.has(each.oid)) yield each;
      return;
    }
    for (const oid of among) {
      const sketch = this.#loaded.get(oid) ?? this.#fetch(oid);
      if (sketch) yield { oid, sketch };
    }
  }

  /** The same in half the time. */
  #visit(among: ReadonlySet<Oid>, look: (oid: Oid, sketch: Sketch) => void): void {
    if (!this.#load(among)) {
      for (const { oid, sketch } of this.#store.sketches()) if (among.has(oid)) look(oid, sketch);
      return;
    }
    for (const oid of among) {
      const sketch = this.#loaded.get(oid) ?? this.#fetch(oid);
      if (sketch) look(oid, sketch);
    }
  }

  /** False: they are too many to be kept. */
  #load(among: ReadonlySet<Oid>): boolean {
    if (this.#isLoaded) return true;
    if (this.#store.look(({ facts }) => facts.sketchBytes(), 0) > MOST_LOADED_BYTES) return false;
    this.#isLoaded = true;
    for (const { oid, sketch } of this.#store.sketches()) if (among.has(oid)) this.#keep(oid, sketch);
    return true;
  }

  #fetch(oid: Oid): Sketch | undefined {
    const sketch = this.#stored(oid);
    return sketch && this.#keep(oid, sketch);
  }

  #keep(oid: Oid, sketch: Sketch): Sketch {
    const kept = this.#slabs.copy(sketch);
    this.#loaded.set(oid, kept);
    return kept;
  }
}

/** Packs many small arrays into a few large ones: an allocation of its own would cost each array a quarter more. */
class Slabs {
  #slab = new Uint32Array();
  #used = 0;
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
