import { displayWidth } from './columns.ts';

// biome-ignore lint/suspicious/noControlCharactersInRegex: the colours that our own style writes
const PIECE = /\u001b\[[0-9;]*m|[\s\S]/gu;
const RESET = '\u001b[0m';
const CLOSING = new Set(['\u001b[m', RESET, '\u001b[22m', '\u001b[39m']);

/** Breaks a line that may be coloured into lines of at most `width` columns. A colour goes on behind the break. */
export function fold(line: string, width: number): string[] {
  const lines: string[] = [];
  let current = '';
  let used = 0;
  let colour = '';
  for (const piece of line.replaceAll('\t', '    ').match(PIECE) ?? []) {
    if (piece.startsWith('\u001b')) {
      colour = CLOSING.has(piece) ? '' : colour + piece;
      current += piece;
      continue;
    }
    const columns = displayWidth(piece);
    if (used + columns > width) {
      lines.push(colour === '' ? current : current + RESET);
      current = colour;
      used = 0;
    }
    current += piece;
    used += columns;
  }
  return [...lines, current];
}
