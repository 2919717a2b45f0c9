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

/** The words of a collection, to find the one that was meant by one it does not have. */
export class Spelling {
  readonly #byLength = new Map<number, Known[]>();

  constructor(vocabulary: Iterable<UsedWord>) {
    for (const { word, uses } of vocabulary) {
      const alike = this.#byLength.get(word.length) ?? [];
      alike.push({ word, uses, letters: lettersOf(word) });
      this.#byLength.set(word.length, alike);
    }
  }

  /** The nearest words, the most used first: one slip of the pen away, two in a long word. Often none. */
  nearest(word: string): string[] {
    if (word.length < SHORTEST || !/^\p{L}+$/u.test(word)) return [];
    let most = word.length >= LONG ? 2 : 1;
    let near: UsedWord[] = [];
    for (const known of this.#alike(word, most)) {
      const slips = slipsBetween(word, known.word, most);
      if (slips > most) continue;
      if (slips < most) near = [];
      most = slips;
      near.push(known);
    }
    const byUse = near.sort((a, b) => b.uses - a.uses || (a.word < b.word ? -1 : 1));
    return byUse.slice(0, CANDIDATES).map((each) => each.word);
  }

  /** A slip changes at most two letters of the set of letters: this spares nearly all of the comparing. */
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

/** Letters inserted, left out, exchanged, or swapped with their neighbour; anything above `most` is `most + 1`. */
export function slipsBetween(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) > most) return most + 1;
  let before: number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    let least = i;
    for (let j = 1; j <= b.length; j += 1) {
      const slips = slipsAt({ a, b, i, j }, { before, above, row });
      row.push(slips);
      if (slips < least) least = slips;
    }
    if (least > most) return most + 1;
    [before, above] = [above, row];
  }
  return Math.min(above[b.length] ?? most + 1, most + 1);
}

interface Rows {
  before: readonly number[];
  above: readonly number[];
  row: readonly number[];
}

const at = (row: readonly number[], index: number) => row[index] ?? Number.POSITIVE_INFINITY;

function slipsAt({ a, b, i, j }: { a: string; b: string; i: number; j: number }, { before, above, row }: Rows): number {
  const differs = a[i - 1] === b[j - 1] ? 0 : 1;
  const usual = Math.min(at(above, j) + 1, at(row, j - 1) + 1, at(above, j - 1) + differs);
  const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
  return isSwap ? Math.min(usual, at(before, j - 2) + 1) : usual;
}
