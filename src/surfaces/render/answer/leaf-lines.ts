import type { Container, Leaf } from './blocks.ts';
import { type Highlighter, openHighlighter, plainCode } from './highlight.ts';
import { inline } from './inline.ts';
import { both, linesOf, type Span, span, wrapped } from './spans.ts';
import { Table } from './table.ts';
import type { AnswerLook } from './theme.ts';

const WIDEST_RULE = 60;

interface Room {
  columns: number;
  /** More rows of this table will come. */
  goesOn: boolean;
}

/** The lines of leaves, one after the other as they stand in an answer. */
export class LeafLines {
  readonly #look: AnswerLook;
  #highlighter: Highlighter = plainCode;
  /** A table whose first rows are on the screen. */
  #table: Table | undefined;

  constructor(look: AnswerLook) {
    this.#look = look;
  }

  async of(leaf: Leaf, room: Room): Promise<Span[][]> {
    const { theme, wrapCode } = this.#look;
    const { columns } = room;
    switch (leaf.kind) {
      case 'gap':
        return [];
      case 'heading':
        return this.#text(leaf.text, leaf.level === 1 ? both(theme.heading, '4') : theme.heading, columns);
      case 'paragraph':
        return this.#text(checked(leaf), leaf.within.some(({ kind }) => kind === 'quote') ? theme.quote : '', columns);
      case 'rule':
        return [this.#rule('', columns)];
      case 'fence':
        this.#highlighter = await openHighlighter(leaf.info, theme);
        return [this.#rule(/^\S*/.exec(leaf.info)?.[0] ?? '', columns)];
      case 'fence end':
        this.#highlighter = plainCode;
        return [this.#rule('', columns)];
      case 'code': {
        const line = this.#highlighter.line(leaf.line);
        return wrapCode ? wrapped(line, columns) : [line];
      }
      case 'table':
        return this.#rows(leaf.rows, room);
    }
  }

  #text(text: string, look: string, columns: number): Span[][] {
    const { theme, wrap } = this.#look;
    const spans = inline(text.trim(), theme, look);
    if (wrap === 'no') return linesOf(spans);
    return wrapped(spans, wrap === 'auto' ? columns : Math.min(wrap, columns));
  }

  #rule(word: string, columns: number): Span[] {
    const width = Math.min(WIDEST_RULE, columns - 1);
    const line = word === '' ? '' : `── ${word} `;
    return [span(line + '─'.repeat(Math.max(0, width - line.length)), this.#look.theme.faint)];
  }

  #rows(rows: readonly string[], { columns, goesOn }: Room): Span[][] {
    const known = this.#table;
    const table = known ?? new Table(rows, this.#look.theme, { width: columns, isAll: goesOn });
    this.#table = goesOn ? table : undefined;
    return [...(known ? [] : table.head()), ...rows.slice(2).flatMap((row) => table.row(row))];
  }
}

/** An item that can be ticked off. */
function checked({ text, within }: { text: string; within: readonly Container[] }): string {
  if (within.at(-1)?.kind !== 'item') return text;
  return text.replace(/^\[([ xX])\] /, (_, mark: string) => (mark === ' ' ? '☐ ' : '☑ '));
}
