import { beginsPart, classAt, JOINT, NONE } from '../words/characters.ts';
import { TextLines } from './text-lines.ts';

/** Where a term stands in a text as a word or part of one, by offsets into its bytes. */
export function termFinder(bytes: Buffer): (term: string) => number[] {
  const folded = byBytes(bytes).toLowerCase();
  return (term) => {
    const wanted = byBytes(Buffer.from(term, 'utf8')).toLowerCase();
    const found: number[] = [];
    for (let at = folded.indexOf(wanted); at !== -1; at = folded.indexOf(wanted, at + wanted.length)) {
      if (isWholePart(bytes, at, at + wanted.length)) found.push(at);
    }
    return found;
  };
}

/** Latin-1 keeps one character a byte, folded or not, so offsets are those of the bytes. */
export function byBytes(bytes: Buffer): string {
  return bytes.toString('latin1');
}

/** Which of these names have a term for a part, by their places. All are looked through at once: one by one takes ten times as long. */
export function namesWith(names: readonly string[]): (term: string) => number[] {
  const lines = names.map((name) => name.replaceAll('\n', ' ')); // a computed key may be written over several
  const bytes = Buffer.from(lines.join('\n'), 'utf8');
  const find = termFinder(bytes);
  const text = new TextLines(byBytes(bytes));
  return (term) => [...new Set(find(term).map((at) => text.lineAt(at) - 1))];
}

function isWholePart(bytes: Buffer, begin: number, end: number): boolean {
  if (!beginsPart(bytes, begin)) return false;
  const next = classAt(bytes, end);
  return end >= bytes.length || next === NONE || next === JOINT || beginsPart(bytes, end);
}
