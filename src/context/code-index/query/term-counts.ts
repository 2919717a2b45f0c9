import { beginsPart, classAt, JOINT, NONE } from '../words/characters.ts';

const MOST_LINES = 200;

/** How often a term stands in a text as a word or part of one, and on which lines, counted from 1. */
export function termCounter(
  bytes: Buffer,
  mostLines = MOST_LINES,
): (term: string) => { count: number; lines: number[] } {
  // Latin-1 keeps one character a byte, folded or not, so offsets stay those of the bytes.
  const folded = bytes.toString('latin1').toLowerCase();
  let starts: number[] | undefined;
  return (term) => {
    const wanted = Buffer.from(term, 'utf8').toString('latin1').toLowerCase();
    const lines: number[] = [];
    let count = 0;
    for (let at = folded.indexOf(wanted); at !== -1; at = folded.indexOf(wanted, at + wanted.length)) {
      if (!isWholePart(bytes, at, at + wanted.length)) continue;
      count += 1;
      starts ??= lineStarts(folded);
      if (lines.length < mostLines) lines.push(lineAt(starts, at));
    }
    return { count, lines };
  };
}

/** Which of these names have a term for a part, by their places. All are looked through at once: one by one takes ten times as long. */
export function namesWith(names: readonly string[]): (term: string) => number[] {
  const lines = names.map((name) => name.replaceAll('\n', ' ')); // a computed key may be written over several
  const counter = termCounter(Buffer.from(lines.join('\n'), 'utf8'), Number.POSITIVE_INFINITY);
  return (term) => [...new Set(counter(term).lines)].map((line) => line - 1);
}

function isWholePart(bytes: Buffer, begin: number, end: number): boolean {
  if (!beginsPart(bytes, begin)) return false;
  const next = classAt(bytes, end);
  return end >= bytes.length || next === NONE || next === JOINT || beginsPart(bytes, end);
}

/** Of a string, where a search costs a fraction of one in a buffer. */
export function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return starts;
}

/** Counted from 1. */
export function lineAt(starts: readonly number[], at: number): number {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >>> 1;
    if ((starts[middle] as number) <= at) low = middle;
    else high = middle - 1;
  }
  return low + 1;
}
