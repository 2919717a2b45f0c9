import { distance } from 'fastest-levenshtein';

/** The known name that a misspelt one most likely meant: at most a third of its letters differ, a swapped pair counted once. */
export function nearestName(wrong: string, names: Iterable<string>): string | undefined {
  let best: { name: string; edits: number } | undefined;
  for (const name of names) {
    const edits = slipsBetween(wrong.toLowerCase(), name.toLowerCase());
    const isNear = edits <= Math.floor(Math.max(name.length, wrong.length) / 3);
    if (isNear && (best === undefined || edits < best.edits)) best = { name, edits };
  }
  return best?.name;
}

/** Letters that the writer inserted, left out or exchanged; a pair of letters swapped counts once. */
export function slipsBetween(written: string, meant: string): number {
  const edits = distance(written, meant);
  const swaps = edits < 2 ? [] : Array.from({ length: written.length - 1 }, (_, at) => withSwap(written, at));
  return swaps.some((swapped) => distance(swapped, meant) === edits - 2) ? edits - 1 : edits;
}

function withSwap(word: string, at: number): string {
  return `${word.slice(0, at)}${word[at + 1]}${word[at]}${word.slice(at + 2)}`;
}
