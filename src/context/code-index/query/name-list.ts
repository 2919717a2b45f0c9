import { fnvOfBytes } from '../../../base/fnv.ts';
import { type DefinitionStore, NewDefinitions } from '../store/name-index.ts';

const MOST_MATCHES = 2_000;
/** In bytes of UTF-8. */
const LONGEST_LETTER = 4;

/** The ways a name can match, best first. */
const EXACT = 0;
const EXACT_BUT_CASE = 1;
const PREFIX = 2;
const HUMPS = 3;
/** Before subsequences, of which a short query has hundreds. */
const SWAPPED = 4;
const SUBSEQUENCE = 5;
const TYPO = 6;
const WAYS = 7;

/** All defined names, for look-up by a part of them. The first question reads the store, each later one what was added since. */
export class NameList {
  readonly #store: DefinitionStore;
  readonly #new: NewDefinitions;
  #names = new Names();

  constructor(store: DefinitionStore) {
    this.#store = store;
    this.#new = new NewDefinitions(store, () => {
      this.#names = new Names();
    });
  }

  unload(): void {
    this.#new.reset();
  }

  matching(query: string): string[] {
    for (const { names } of this.#new.read()) for (const name of names) this.#names.add(name);
    for (const { names } of this.#store.definedInMemory()) for (const name of names) this.#names.add(name);
    return rankNames(this.#names, query);
  }
}

/** Best first: by the way it matches, then the shorter, then by name. Sorts only as many as are wanted. */
function rankNames(names: Names, query: string): string[] {
  const wayOf = matcherFor(query);
  const groups = new Map<number, string[]>();
  for (const name of near(names, query)) {
    const way = wayOf(name);
    if (way === undefined) continue;
    const key = name.length * WAYS + way;
    const same = groups.get(key);
    if (same) same.push(name);
    else groups.set(key, [name]);
  }
  const ranked: string[] = [];
  for (const [, group] of [...groups].sort(([a], [b]) => (a % WAYS) - (b % WAYS) || a - b)) {
    if (ranked.length >= MOST_MATCHES) break;
    ranked.push(...group.sort());
  }
  return ranked.slice(0, MOST_MATCHES);
}

/** Names with all letters of the query, or all but one, which may be a typo. No other name can match. */
function* near(names: Names, query: string): Generator<string> {
  const wanted = lettersOf(query);
  const size = Buffer.byteLength(query);
  for (let at = 0; at < names.count; at++) {
    const missing = wanted & ~names.letters(at);
    const isOneLetter = (missing & (missing - 1)) === 0 && Math.abs(names.size(at) - size) <= LONGEST_LETTER;
    if (missing === 0 || isOneLetter) yield names.text(at);
  }
}

function matcherFor(query: string): (name: string) => number | undefined {
  const lower = query.toLowerCase();
  const humps = humpPattern(query);
  const hasMarks = /[^A-Za-z0-9]/.test(query); // humps have none
  const otherwise = (name: string, folded: string) => {
    if (hasMarks && humps.test(name)) return HUMPS;
    if (!isNear(folded, lower) || !isOneTypo(folded, lower)) return undefined;
    return isSwapped(folded, lower) ? SWAPPED : TYPO;
  };
  return (name) => {
    if (name === query) return EXACT;
    const folded = name.toLowerCase();
    if (!isSubsequence(lower, folded)) return otherwise(name, folded);
    if (folded.length === lower.length) return EXACT_BUT_CASE;
    if (folded.startsWith(lower)) return PREFIX;
    return humps.test(name) ? HUMPS : SUBSEQUENCE;
  };
}

/** Whether the text has these letters in this order, with anything between them. */
function isSubsequence(letters: string, text: string): boolean {
  let met = 0;
  for (let at = 0; at < text.length && met < letters.length; at++)
    if (text.charCodeAt(at) === letters.charCodeAt(met)) met += 1;
  return met === letters.length;
}

/** One typo leaves one of the first two letters in place, or swaps them. */
function isNear(folded: string, lower: string): boolean {
  if (Math.abs(folded.length - lower.length) > 1) return false;
  const [first, second] = [lower.charCodeAt(0), lower.charCodeAt(1)];
  const [begins, goesOn] = [folded.charCodeAt(0), folded.charCodeAt(1)];
  return begins === first || begins === second || goesOn === second || goesOn === first;
}

/** Of two texts that one typo tells apart. */
function isSwapped(one: string, other: string): boolean {
  let at = 0;
  while (one[at] === other[at]) at += 1;
  return one.length === other.length && one[at] === other[at + 1] && one[at + 1] === other[at];
}

/** Matches names whose humps start with those of the query: `gQS` finds `getQuerySet` and `get_query_set`. */
function humpPattern(query: string): RegExp {
  const humps = query.match(/[A-Z]?[a-z0-9]+|[A-Z]/g) ?? [query];
  const parts = humps.map((hump, at) => {
    const [initial = '', ...rest] = hump;
    const tail = rest.map(escaped).join('');
    if (at === 0) return `^_*[${escaped(initial.toLowerCase())}${escaped(initial.toUpperCase())}]${tail}`;
    return `(?:${escaped(initial.toUpperCase())}|(?<=[_$])${escaped(initial.toLowerCase())})${tail}`;
  });
  return new RegExp(parts.join('[a-z0-9_$]*'));
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&');
}

/** One letter more, less or different, or two swapped, which plain edit distance counts twice. Called for every name, so it looks at each letter once. */
function isOneTypo(one: string, other: string): boolean {
  if (one === other) return false;
  const [long, short] = one.length >= other.length ? [one, other] : [other, one];
  let at = 0;
  while (at < short.length && long[at] === short[at]) at += 1;
  if (long.length > short.length) return long.slice(at + 1) === short.slice(at);
  if (long.slice(at + 1) === short.slice(at + 1)) return true;
  return long[at] === short[at + 1] && long[at + 1] === short[at] && long.slice(at + 2) === short.slice(at + 2);
}

/** Of one UTF-16 unit as UTF-8. */
const MOST_BYTES = 3;
/** Less than doubling, because the bytes are most of the memory. */
const GROWTH = 1.25;

/**
 * Each name once, with the set of its letters, which rules most names out. Half a million strings would fill a third of a server's
 * heap, so they are in one buffer, with a hash table over them.
 */
export class Names {
  #bytes: Uint8Array<ArrayBuffer> = new Uint8Array(1 << 14);
  #view = Buffer.from(this.#bytes.buffer);
  #ends = new Uint32Array(1 << 10);
  #letters = new Uint32Array(1 << 10);
  /** Numbers of names, counted from 1, each at the slot of its hash or the next free one. At most half full. */
  #slots = new Uint32Array(1 << 11);
  #count = 0;

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

/** One bit per letter; digits and marks share the other bits. */
function lettersOf(text: string): number {
  let bits = 0;
  for (let at = 0; at < text.length; at++) bits |= 1 << ((text.charCodeAt(at) | 0x20) & 31);
  return bits >>> 0;
}
