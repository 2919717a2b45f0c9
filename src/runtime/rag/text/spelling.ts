import { slipsBetween } from '../../../base/nearest.ts';

export interface UsedWord {
  word: string;
  uses: number;
}

interface Known extends UsedWord {
  letters: number;
}

const SHORTEST = 4;
const LONG = 7;
const CANDIDATES = 2;

/** Finds the words of a collection that a misspelt word may mean. */
export class Spelling {
  readonly #byLength = new Map<number, Known[]>();

  constructor(vocabulary: Iterable<UsedWord>) {
    for (const { word, uses } of vocabulary) {
      const alike = this.#byLength.get(word.length) ?? [];
      alike.push({ word, uses, letters: lettersOf(word) });
      this.#byLength.set(word.length, alike);
    }
  }

  /** The nearest words, the most used first: at most one slip away, two for a long word. */
  nearest(word: string): string[] {
    if (word.length < SHORTEST || !/^\p{L}+$/u.test(word)) return [];
    let most = word.length >= LONG ? 2 : 1;
    let near: UsedWord[] = [];
    for (const known of this.#alike(word, most)) {
      const slips = slipsBetween(word, known.word);
      if (slips > most) continue;
      if (slips < most) near = [];
      most = slips;
      near.push(known);
    }
    const byUse = near.sort((a, b) => b.uses - a.uses || (a.word < b.word ? -1 : 1));
    return byUse.slice(0, CANDIDATES).map((each) => each.word);
  }

  /** A slip changes at most two letters of the set, so most words need no comparison. */
  *#alike(word: string, slips: number): Generator<UsedWord> {
    const letters = lettersOf(word);
    for (let length = word.length - slips; length <= word.length + slips; length += 1) {
      for (const known of this.#byLength.get(length) ?? []) if (bits(known.letters ^ letters) <= 2 * slips) yield known;
    }
  }
}

function lettersOf(word: string): number {
  let set = 0;
  for (let at = 0; at < word.length; at += 1) set |= 1 << (word.charCodeAt(at) & 31);
  return set;
}

function bits(set: number): number {
  let count = 0;
  for (let left = set; left !== 0; left &= left - 1) count += 1;
  return count;
}
