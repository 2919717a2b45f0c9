import type { FactStore } from '../store/fact-store.ts';

const MOST_MATCHES = 2_000;

/** The ways a name can match, best first (C-066). */
const EXACT = 0;
const PREFIX = 1;
const HUMPS = 2;
const SUBSEQUENCE = 3;
const TYPO = 4;

interface Names {
  texts: readonly string[];
  /** Which letters each has: most names fall away by that alone. */
  letters: Uint32Array;
}

/** All names that are defined anywhere, for look-up by a part of them. Read again after the store has grown. */
export class NameList {
  readonly #store: Pick<FactStore, 'names'>;
  readonly #version: () => string;
  #read: { version: string; names: Names } | undefined;

  constructor(store: Pick<FactStore, 'names'>, version: () => string) {
    this.#store = store;
    this.#version = version;
  }

  unload(): void {
    this.#read = undefined;
  }

  matching(query: string): string[] {
    const version = this.#version();
    if (this.#read?.version !== version) this.#read = { version, names: prepareNames(this.#store.names()) };
    return rankNames(this.#read.names, query);
  }
}

export function prepareNames(texts: readonly string[]): Names {
  return { texts, letters: Uint32Array.from(texts, lettersOf) };
}

/** A bit for each letter; digits and marks share the rest. */
function lettersOf(text: string): number {
  let bits = 0;
  for (let at = 0; at < text.length; at++) bits |= 1 << ((text.charCodeAt(at) | 0x20) & 31);
  return bits >>> 0;
}

/** Best first: by the way it matches, then the shorter, then by name. */
export function rankNames({ texts, letters }: Names, query: string): string[] {
  const rank = rankerFor(query);
  const wanted = lettersOf(query);
  const ranked: { name: string; rank: number }[] = [];
  for (const [at, name] of texts.entries()) {
    const missing = wanted & ~(letters[at] as number);
    // One typo is one letter: more of them missing, and nothing can match.
    if ((missing & (missing - 1)) !== 0 || (missing !== 0 && Math.abs(name.length - query.length) > 1)) continue;
    const found = rank(name);
    if (found !== undefined) ranked.push({ name, rank: found });
  }
  ranked.sort((a, b) => a.rank - b.rank || a.name.length - b.name.length || (a.name < b.name ? -1 : 1));
  return ranked.slice(0, MOST_MATCHES).map(({ name }) => name);
}

function rankerFor(query: string): (name: string) => number | undefined {
  const lower = query.toLowerCase();
  const subsequence = new RegExp([...lower].map(escaped).join('.*'), 'is');
  const humps = humpPattern(query);
  const first = lower.charCodeAt(0);
  const second = lower.charCodeAt(1);
  return (name) => {
    if (name === query) return EXACT;
    const folded = name.toLowerCase();
    if (folded === lower) return EXACT + 0.5;
    if (folded.startsWith(lower)) return PREFIX;
    if (humps.test(name)) return HUMPS;
    if (subsequence.test(folded)) return SUBSEQUENCE;
    // One typo leaves one of the first two letters in place, or swaps them.
    const start = folded.charCodeAt(0);
    const isNear =
      start === first || start === second || folded.charCodeAt(1) === second || folded.charCodeAt(1) === first;
    return isNear && Math.abs(folded.length - lower.length) <= 1 && isOneTypo(folded, lower) ? TYPO : undefined;
  };
}

/** `gQS` is the start of each hump: `getQuerySet`, `get_query_set`. */
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

/** One letter more, less, other, or two swapped. */
export function isOneTypo(one: string, other: string): boolean {
  if (one === other) return false;
  const [long, short] = one.length >= other.length ? [one, other] : [other, one];
  let at = 0;
  while (at < short.length && long[at] === short[at]) at += 1;
  if (long.length > short.length) return long.slice(at + 1) === short.slice(at);
  if (long.slice(at + 1) === short.slice(at + 1)) return true;
  return long[at] === short[at + 1] && long[at + 1] === short[at] && long.slice(at + 2) === short.slice(at + 2);
}
