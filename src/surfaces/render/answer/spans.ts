import { displayWidth } from '../columns.ts';

/** A piece of text and how it looks: the parameters of an SGR sequence, empty for plain text. */
export interface Span {
  text: string;
  look: string;
}

export const span = (text: string, look = ''): Span => ({ text, look });

/** Both, one after the other: the later one wins where they differ. */
export const both = (one: string, other: string): string => [one, other].filter((look) => look !== '').join(';');

export const widthOf = (spans: readonly Span[]): number => spans.reduce((sum, { text }) => sum + displayWidth(text), 0);

export function painted(spans: readonly Span[]): string {
  return spans
    .map(({ text, look }) => (look === '' || text === '' ? text : `\u001b[${look}m${text}\u001b[0m`))
    .join('');
}

/** Lines end where the text has a line break. */
export function linesOf(spans: readonly Span[]): Span[][] {
  const lines: Span[][] = [[]];
  for (const { text, look } of spans) {
    const [first = '', ...rest] = text.split('\n');
    lines.at(-1)?.push({ text: first, look });
    for (const line of rest) lines.push([{ text: line, look }]);
  }
  return lines;
}

/** A word with the blank behind it, or one wide character: lines may be broken between those. */
const WORD =
  /[\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff00-\uffef]|[^\s\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff00-\uffef]+[ \t]*|\s+/gu;

/** Breaks lines between words so that each has at most `width` columns; a longer word is broken inside. */
export function wrapped(spans: readonly Span[], width: number): Span[][] {
  return linesOf(spans).flatMap((line) => new Wrapping(Math.max(1, width)).take(line).map(trimmed));
}

/** Blanks at the end of a line might reach beyond the edge. */
function trimmed(line: readonly Span[]): Span[] {
  const last = line.at(-1);
  return last ? [...line.slice(0, -1), { ...last, text: last.text.trimEnd() }] : [];
}

class Wrapping {
  readonly #width: number;
  readonly #lines: Span[][] = [[]];
  #used = 0;

  constructor(width: number) {
    this.#width = width;
  }

  take(line: readonly Span[]): Span[][] {
    for (const { text, look } of line) for (const word of text.match(WORD) ?? []) this.#word(word, look);
    return this.#lines;
  }

  #word(word: string, look: string): void {
    const columns = displayWidth(word.trimEnd());
    if (this.#used + columns > this.#width && this.#used > 0) this.#break();
    const pieces = columns <= this.#width ? [word] : word;
    for (const character of pieces) {
      if (pieces === word && this.#used + displayWidth(character) > this.#width) this.#break();
      this.#add(character, look);
    }
  }

  #add(text: string, look: string): void {
    this.#lines.at(-1)?.push({ text, look });
    this.#used += displayWidth(text);
  }

  #break(): void {
    this.#lines.push([]);
    this.#used = 0;
  }
}
