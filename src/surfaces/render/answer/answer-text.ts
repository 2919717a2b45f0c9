import { Blocks, type Container, type Leaf } from './blocks.ts';
import { type Highlighter, openHighlighter, plainCode } from './highlight.ts';
import { inline } from './inline.ts';
import { both, linesOf, painted, type Span, span, widthOf, wrapped } from './spans.ts';
import { Table } from './table.ts';
import type { Theme } from './theme.ts';

/** How answers are shown. */
export interface AnswerLook {
  theme: Theme;
  /** At how many columns text is broken between words. `no`: it is left to the terminal, which breaks anywhere. */
  wrap: 'no' | 'auto' | number;
  /** Breaks long lines of code as well. */
  wrapCode: boolean;
}

const WIDEST_RULE = 60;

/** Markdown line by line, as lines for a terminal. What a line completes is handed out at once and never again. */
export class AnswerText {
  readonly #look: AnswerLook;
  readonly #columns: () => number;
  readonly #blocks = new Blocks();
  /** Items whose marker has been shown. */
  readonly #begun = new WeakSet<Container>();
  #highlighter: Highlighter = plainCode;
  /** A table whose first rows are on the screen. */
  #table: Table | undefined;
  /** Blank lines stand between blocks only. */
  #gap: readonly Container[] | undefined;
  #isEmpty = true;

  constructor(look: AnswerLook, columns: () => number) {
    this.#look = look;
    this.#columns = columns;
  }

  /** What is not complete yet, as it was written, with a line break behind each line. */
  get pending(): string {
    return this.#blocks.pending.map((line) => `${line}\n`).join('');
  }

  async line(source: string): Promise<string[]> {
    const shown: string[] = [];
    for (const leaf of this.#blocks.line(source)) shown.push(...(await this.#leaf(leaf)));
    return shown;
  }

  async end(): Promise<string[]> {
    const shown: string[] = [];
    for (const leaf of this.#blocks.end()) shown.push(...(await this.#leaf(leaf)));
    return shown;
  }

  /** Hands out the incomplete rest, for it grows too long. `begun` is the beginning of a line that has not ended. */
  async cut(begun: string): Promise<string[]> {
    const shown = begun === '' ? [] : await this.line(begun);
    for (const leaf of this.#blocks.cut(begun !== '')) {
      shown.push(...(await this.#leaf(leaf, leaf.kind === 'table')));
    }
    return shown;
  }

  /** The blank line, if any, that belongs before what comes next. */
  gap(): string {
    const lines = this.#takeGap();
    return lines.map((line) => `${painted(line).trimEnd()}\n`).join('');
  }

  /** Forgets the incomplete rest, which stays on the screen as it was written. */
  skip(): void {
    this.#blocks.skip();
    this.#gap = undefined;
    this.#isEmpty = false;
  }

  async #leaf(leaf: Leaf, goesOn = false): Promise<string[]> {
    if (leaf.kind === 'gap') {
      if (!this.#isEmpty) this.#gap ??= leaf.within;
      return [];
    }
    if (leaf.kind === 'fence') this.#highlighter = await openHighlighter(leaf.info, this.#look.theme);
    const gap = this.#takeGap();
    this.#isEmpty = false;
    const first = this.#before(leaf.within);
    const room = Math.max(8, this.#columns() - widthOf(first));
    const lines = this.#lines(leaf, { room, goesOn });
    for (const container of leaf.within) this.#begun.add(container);
    const further = this.#before(leaf.within);
    const all = lines.map((line, at) => [...(at === 0 ? first : further), ...line]);
    return [...gap, ...all].map((line) => painted(line).trimEnd());
  }

  #takeGap(): Span[][] {
    const within = this.#gap;
    this.#gap = undefined;
    return within === undefined ? [] : [this.#before(within.filter(({ kind }) => kind === 'quote'))];
  }

  /** What stands before a line: the bars of quotes, and the marker of an item or the blanks below it. */
  #before(within: readonly Container[]): Span[] {
    const { theme } = this.#look;
    return within.map((container) => {
      if (container.kind === 'quote') return span('│ ', theme.quote);
      const marker = /\d/.test(container.marker) ? `${container.marker} ` : '• ';
      return this.#begun.has(container) ? span(' '.repeat(marker.length)) : span(marker, theme.marker);
    });
  }

  #lines(leaf: Leaf, { room, goesOn }: { room: number; goesOn: boolean }): Span[][] {
    const { theme, wrapCode } = this.#look;
    switch (leaf.kind) {
      case 'gap':
        return [];
      case 'heading':
        return this.#text(leaf.text, leaf.level === 1 ? both(theme.heading, '4') : theme.heading, room);
      case 'paragraph':
        return this.#text(checked(leaf), leaf.within.some(({ kind }) => kind === 'quote') ? theme.quote : '', room);
      case 'rule':
        return [this.#rule('', room)];
      case 'fence':
        return [this.#rule(/^\S*/.exec(leaf.info)?.[0] ?? '', room)];
      case 'fence end':
        this.#highlighter = plainCode;
        return [this.#rule('', room)];
      case 'code': {
        const line = this.#highlighter.line(leaf.line);
        return wrapCode ? wrapped(line, room) : [line];
      }
      case 'table':
        return this.#rows(leaf.rows, { room, goesOn });
    }
  }

  #text(text: string, look: string, room: number): Span[][] {
    const { theme, wrap } = this.#look;
    const spans = inline(text.trim(), theme, look);
    if (wrap === 'no') return linesOf(spans);
    return wrapped(spans, wrap === 'auto' ? room : Math.min(wrap, room));
  }

  #rule(word: string, room: number): Span[] {
    const width = Math.min(WIDEST_RULE, room - 1);
    const line = word === '' ? '' : `── ${word} `;
    return [span(line + '─'.repeat(Math.max(0, width - line.length)), this.#look.theme.faint)];
  }

  #rows(rows: readonly string[], { room, goesOn }: { room: number; goesOn: boolean }): Span[][] {
    const known = this.#table;
    const table = known ?? new Table(rows, this.#look.theme, { width: room, isAll: goesOn });
    this.#table = goesOn ? table : undefined;
    return [...(known ? [] : table.head()), ...rows.slice(2).flatMap((row) => table.row(row))];
  }
}

/** An item that can be ticked off. */
function checked({ text, within }: { text: string; within: readonly Container[] }): string {
  if (within.at(-1)?.kind !== 'item') return text;
  return text.replace(/^\[([ xX])\] /, (_, mark: string) => (mark === ' ' ? '☐ ' : '☑ '));
}
