import { printable } from '../../base/printable.ts';
import type { Style } from './style.ts';

/** Characters that take two columns: CJK, Hangul, full-width forms, pictures. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;
const COMBINING = /\p{M}/u;
/** Each character of it takes one column. */
const NARROW = /^[\x20-\x7e]*$/;
/** So are most cells: words with one blank between them. */
const PLAIN_LINE = /^(?:[\x21-\x7e] ?)*(?<! )$/;
const GAP = '  ';

export function displayWidth(text: string): number {
  if (NARROW.test(text)) return text.length;
  let width = 0;
  for (const character of text) width += widthOf(character);
  return width;
}

function widthOf(character: string): number {
  if (COMBINING.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}

/** One line of at most `width` columns. A cut is marked with `…`. */
export function oneLine(text: string, width: number): string {
  if (PLAIN_LINE.test(text)) return text.length <= width ? text : `${text.slice(0, width - 1)}…`;
  const line = printable(text).replace(/\s+/g, ' ').trim();
  if (displayWidth(line) <= width) return line;
  let kept = '';
  let used = 0;
  for (const character of line) {
    used += widthOf(character);
    if (used > width - 1) break;
    kept += character;
  }
  return `${kept}…`;
}

export interface Cell {
  text: string;
  /** Applied after fitting, so that colour codes are never counted or cut. */
  paint?: (text: string) => string;
}

export function heading(titles: readonly string[], { paint }: Pick<Style, 'paint'>): Cell[] {
  return titles.map((text) => ({ text, paint: (plain) => paint('dim', plain) }));
}

/** Each column is as wide as its longest cell. The last one takes the rest of the width. */
export function table(rows: Cell[][], width: number): string {
  const columns = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(...rows.map((row) => displayWidth(row[column]?.text ?? ''))),
  );
  const before = widths.slice(0, -1).reduce((sum, each) => sum + each + GAP.length, 0);
  widths[columns - 1] = Math.max(10, width - before);
  return rows
    .map((row) =>
      row
        .map((cell, column) => padded(cell, widths[column] ?? 0, column === columns - 1))
        .join(GAP)
        .trimEnd(),
    )
    .join('\n');
}

function padded({ text, paint = (plain) => plain }: Cell, width: number, isLast: boolean): string {
  const fitted = oneLine(text, width);
  return isLast ? paint(fitted) : paint(fitted) + ' '.repeat(Math.max(0, width - displayWidth(fitted)));
}
