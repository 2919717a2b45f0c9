import { FNV_PRIME, FNV_SEED, fnvOfBytes } from '../../../base/fnv.ts';
import { beginsPart, CLASSES, classAt, DIGIT, JOINT, NONE } from './characters.ts';

/** The sorted distinct hashes of a file's words and of their parts. */
export type Sketch = Uint32Array;

/** Changes with the meaning of a sketch. Sketches of other versions are made again. */
export const SKETCH_VERSION = 'words-1';

/** Differs from the seed of words, so that the word `set` and the part `set` differ. */
const PART_SEED = 0x2f0b4c47;
const SHORTEST_PART = 3;
const TO_LOWER = 0x20;

/** Marks an entry that came from a part. */
const NOWHERE = 0xffffffff;
const DOLLAR = 0x24;

interface Range {
  begin: number;
  end: number;
}

/** Builds one sketch after the other in the same memory. */
export class SketchBuilder {
  #slots = new Uint32Array(1 << 13);
  #stamps = new Uint32Array(1 << 13);
  /** Where the word of a slot first stood. Two words with the same hash must both add their parts. */
  #begins = new Uint32Array(1 << 13);
  #found = new Uint32Array(1 << 12);
  #generation = 0;
  #count = 0;
  #bytes: Uint8Array = new Uint8Array();

  sketch(bytes: Uint8Array): Sketch {
    this.#generation += 1;
    this.#count = 0;
    this.#bytes = bytes;
    const length = bytes.length;
    let at = 0;
    while (at < length) {
      if ((CLASSES[bytes[at] as number] as number) <= DIGIT) {
        at += 1;
        continue;
      }
      const begin = at;
      let hash = FNV_SEED;
      let isMixed = false;
      for (let byte = bytes[at] as number; at < length && CLASSES[byte] !== NONE; byte = bytes[++at] as number) {
        hash = Math.imul(hash ^ byte, FNV_PRIME);
        isMixed ||= byte >= 0x80 || byte === DOLLAR;
      }
      if (at - begin > 1) this.#addWord({ begin, end: at }, hash >>> 0);
      if (isMixed) this.#addPlain({ begin, end: at });
    }
    this.#bytes = new Uint8Array();
    return this.#found.slice(0, this.#count).sort();
  }

  /** Adds the plain words inside: `$name` is `name` in some languages, and a dash or quote beyond ASCII is no letter. */
  #addPlain({ begin, end }: Range): void {
    for (let at = begin; at < end; ) {
      const from = at;
      while (at < end && this.#isPlain(at)) at += 1;
      if (at - from > 1) this.#addWord({ begin: from, end: at }, fnvOfBytes(this.#bytes, from, at));
      at += 1;
    }
  }

  #isPlain(at: number): boolean {
    const byte = this.#bytes[at] as number;
    return byte < 0x80 && byte !== DOLLAR;
  }

  #addWord(word: Range, hash: number): void {
    const slot = this.#slotOf(hash);
    const isKnown = this.#stamps[slot] === this.#generation;
    if (isKnown && this.#isSameWord(this.#begins[slot] as number, word)) return;
    if (!isKnown) this.#put(slot, hash, word.begin);
    this.#addParts(word);
  }

  #isSameWord(first: number, { begin, end }: Range): boolean {
    if (first === NOWHERE) return false;
    for (let at = begin; at < end; at++) if (this.#bytes[at] !== this.#bytes[first + at - begin]) return false;
    return classAt(this.#bytes, first + end - begin) === NONE || first === begin;
  }

  #addParts({ begin, end }: Range): void {
    const bytes = this.#bytes;
    let from = begin;
    for (let at = begin + 1; at <= end; at++) {
      if (at < end && !beginsPart(bytes, at) && classAt(bytes, at) !== JOINT) continue;
      const first = classAt(bytes, from) === JOINT ? from + 1 : from;
      if (at - first >= SHORTEST_PART) this.#addPart(hashPart(bytes, first, at));
      from = at;
    }
  }

  #addPart(hash: number): void {
    const slot = this.#slotOf(hash);
    if (this.#stamps[slot] !== this.#generation) this.#put(slot, hash, NOWHERE);
  }

  /** The slot of a hash, or the free one where it belongs. */
  #slotOf(hash: number): number {
    const mask = this.#slots.length - 1;
    let slot = (hash ^ (hash >>> 15)) & mask;
    while (this.#stamps[slot] === this.#generation && this.#slots[slot] !== hash) slot = (slot + 1) & mask;
    return slot;
  }

  #put(slot: number, hash: number, begin: number): void {
    this.#slots[slot] = hash;
    this.#stamps[slot] = this.#generation;
    this.#begins[slot] = begin;
    this.#found[this.#count++] = hash;
    if (this.#count * 2 >= this.#slots.length) this.#grow();
  }

  #grow(): void {
    const [slots, stamps, begins] = [this.#slots, this.#stamps, this.#begins];
    const size = slots.length * 2;
    this.#slots = new Uint32Array(size);
    this.#stamps = new Uint32Array(size);
    this.#begins = new Uint32Array(size);
    const found = new Uint32Array(size / 2 + 1);
    found.set(this.#found.subarray(0, this.#count));
    this.#found = found;
    for (const [old, stamp] of stamps.entries()) {
      if (stamp !== this.#generation) continue;
      const slot = this.#slotOf(slots[old] as number);
      this.#slots[slot] = slots[old] as number;
      this.#stamps[slot] = stamp;
      this.#begins[slot] = begins[old] as number;
    }
  }
}

function hashPart(bytes: Uint8Array, begin: number, end: number): number {
  let hash = PART_SEED;
  for (let at = begin; at < end; at++) {
    const byte = bytes[at] as number;
    hash = Math.imul(hash ^ (byte >= 0x41 && byte <= 0x5a ? byte | TO_LOWER : byte), FNV_PRIME);
  }
  return hash >>> 0;
}

/** The hashes of a text's words. Words of one byte are left out, as in a sketch. */
export function wordHashes(text: string): number[] {
  const bytes = Buffer.from(text, 'utf8');
  return wordRanges(bytes).map(({ begin, end }) => fnvOfBytes(bytes, begin, end));
}

/**
 * What the sketch of a file must hold if a name stands in it as a whole word. Of a name with `$` or letters beyond ASCII only the plain
 * words inside are sure: the sketch may join it with what stands beside it, a dash for example.
 */
export function candidateHashes(name: string): number[] {
  return wordHashes(name.replace(/[^\x20-\x23\x25-\x7e]+/g, ' '));
}

/** The parts of a text's words in lower case, each once, in order. */
export function partsOf(text: string): string[] {
  const bytes = Buffer.from(text, 'utf8');
  const parts = wordRanges(bytes).flatMap(({ begin, end }) => {
    const cuts = [begin];
    for (let at = begin + 1; at < end; at++) if (beginsPart(bytes, at) || classAt(bytes, at) === JOINT) cuts.push(at);
    return [...cuts.entries()].map(([index, cut]) =>
      bytes.toString('utf8', classAt(bytes, cut) === JOINT ? cut + 1 : cut, cuts[index + 1] ?? end),
    );
  });
  const long = parts.filter((part) => Buffer.byteLength(part) >= SHORTEST_PART);
  return [...new Set(long.map((part) => part.replace(/[A-Z]+/g, (capitals) => capitals.toLowerCase())))];
}

export function partHash(part: string): number {
  const bytes = Buffer.from(part, 'utf8');
  return hashPart(bytes, 0, bytes.length);
}

function wordRanges(bytes: Uint8Array): Range[] {
  const ranges: Range[] = [];
  for (let at = 0; at < bytes.length; ) {
    if (classAt(bytes, at) <= DIGIT) {
      at += 1;
      continue;
    }
    const begin = at;
    while (at < bytes.length && classAt(bytes, at) !== NONE) at += 1;
    if (at - begin > 1) ranges.push({ begin, end: at });
  }
  return ranges;
}

export function holds(sketch: Sketch, hash: number): boolean {
  let low = 0;
  let high = sketch.length - 1;
  while (low <= high) {
    const middle = (low + high) >>> 1;
    const found = sketch[middle] as number;
    if (found === hash) return true;
    if (found < hash) low = middle + 1;
    else high = middle - 1;
  }
  return false;
}
