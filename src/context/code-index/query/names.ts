import { fnvOfBytes } from '../../../base/fnv.ts';

/** Of one UTF-16 unit in UTF-8. */
const MOST_BYTES = 3;
/** Bytes are the most of it: twice as many as are needed would be too many. */
const GROWTH = 1.25;

/**
 * Each name once, and which letters it has: most fall away by that alone. Half a million strings would fill a third of a server's
 * heap, so they lie one behind the other in one buffer, and a table by their hashes tells which are there.
 */
export class Names {
  #bytes: Uint8Array<ArrayBuffer> = new Uint8Array(1 << 14);
  #view = Buffer.from(this.#bytes.buffer);
  #ends = new Uint32Array(1 << 10);
  #letters = new Uint32Array(1 << 10);
  /** Numbers of names from 1, each at the place of its hash or the next free one; twice as many as there may be names. */
  #slots = new Uint32Array(1 << 11);
  #count = 0;

  constructor(texts: Iterable<string> = []) {
    for (const text of texts) this.add(text);
  }

  get count(): number {
    return this.#count;
  }

  add(text: string): void {
    const begin = this.#begin(this.#count);
    this.#makeRoom(begin + text.length * MOST_BYTES);
    const end = begin + this.#view.write(text, begin);
    const slot = this.#slotOf(begin, end);
    if (this.#slots[slot] !== 0) return;
    this.#ends[this.#count] = end;
    this.#letters[this.#count] = lettersOf(text);
    this.#count += 1;
    this.#slots[slot] = this.#count;
    if (this.#count === this.#ends.length) this.#grow();
  }

  letters(at: number): number {
    return this.#letters[at] as number;
  }

  /** In bytes. */
  size(at: number): number {
    return (this.#ends[at] as number) - this.#begin(at);
  }

  text(at: number): string {
    return this.#view.toString('utf8', this.#begin(at), this.#ends[at]);
  }

  #begin(at: number): number {
    return at === 0 ? 0 : (this.#ends[at - 1] as number);
  }

  /** Where these bytes are, or would be. */
  #slotOf(begin: number, end: number): number {
    const mask = this.#slots.length - 1;
    const hash = fnvOfBytes(this.#bytes, begin, end);
    let slot = (hash ^ (hash >>> 15)) & mask;
    for (let name = this.#slots[slot]; name !== 0; name = this.#slots[slot]) {
      if (this.#isSame((name as number) - 1, begin, end)) break;
      slot = (slot + 1) & mask;
    }
    return slot;
  }

  #isSame(name: number, begin: number, end: number): boolean {
    const from = this.#begin(name);
    if (this.size(name) !== end - begin) return false;
    for (let at = begin; at < end; at++) if (this.#bytes[at] !== this.#bytes[from + at - begin]) return false;
    return true;
  }

  #makeRoom(bytes: number): void {
    if (bytes <= this.#bytes.length) return;
    const enough = new Uint8Array(Math.ceil(bytes * GROWTH));
    enough.set(this.#bytes);
    this.#bytes = enough;
    this.#view = Buffer.from(enough.buffer);
  }

  #grow(): void {
    const [ends, letters] = [this.#ends, this.#letters];
    this.#ends = new Uint32Array(2 * ends.length);
    this.#letters = new Uint32Array(2 * ends.length);
    this.#ends.set(ends);
    this.#letters.set(letters);
    this.#slots = new Uint32Array(4 * ends.length);
    for (let at = 0; at < this.#count; at++)
      this.#slots[this.#slotOf(this.#begin(at), this.#ends[at] as number)] = at + 1;
  }
}

/** A bit for each letter; digits and marks share the rest. */
export function lettersOf(text: string): number {
  let bits = 0;
  for (let at = 0; at < text.length; at++) bits |= 1 << ((text.charCodeAt(at) | 0x20) & 31);
  return bits >>> 0;
}
