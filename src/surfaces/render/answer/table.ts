import { inline } from './inline.ts';
import { type Span, span, widthOf, wrapped } from './spans.ts';
import type { Theme } from './theme.ts';

const NARROWEST = 3;
interface Room {
  width: number;
  isAll: boolean;
}
type Side = 'left' | 'right' | 'centre';

/** A table whose columns keep their widths, so that rows which come later still fit. */
export class Table {
  readonly #theme: Theme;
  readonly #sides: Side[];
  readonly #widths: number[];
  readonly #head: Span[][];

  /** The rows as written; the second one says how columns are aligned. With more to come, columns share the whole width. */
  constructor([head = '', delimiter = '', ...rows]: readonly string[], theme: Theme, room: Room) {
    this.#theme = theme;
    this.#sides = cellsOf(delimiter).map(sideOf);
    this.#head = this.#cells(head, theme.strong);
    const all = [this.#head, ...rows.map((row) => this.#cells(row))];
    const wanted = this.#sides.map((_, at) => Math.max(NARROWEST, ...all.map((cells) => widthOf(cells[at] ?? []))));
    const width = room.width - 3 * (wanted.length - 1);
    const share = room.isAll ? Math.floor(width / wanted.length) : 0;
    this.#widths = fitted(
      wanted.map((each) => Math.max(each, share)),
      width,
    );
  }

  head(): Span[][] {
    const line = this.#widths.map((width) => '─'.repeat(width)).join('─┼─');
    return [...this.#lines(this.#head), [span(line, this.#theme.faint)]];
  }

  row(source: string): Span[][] {
    return this.#lines(this.#cells(source));
  }

  #cells(row: string, look = ''): Span[][] {
    const cells = cellsOf(row);
    return this.#sides.map((_, at) => inline(cells[at] ?? '', this.#theme, look));
  }

  /** Cells that are too wide take several lines. */
  #lines(cells: readonly Span[][]): Span[][] {
    const columns = cells.map((cell, at) => wrapped(cell, this.#widths[at] ?? NARROWEST));
    const height = Math.max(1, ...columns.map((lines) => lines.length));
    return Array.from({ length: height }, (_, line) =>
      columns.flatMap((lines, at) => [
        ...(at === 0 ? [] : [span(' │ ', this.#theme.faint)]),
        ...this.#padded(lines[line] ?? [], at),
      ]),
    );
  }

  #padded(cell: Span[], at: number): Span[] {
    const free = Math.max(0, (this.#widths[at] ?? 0) - widthOf(cell));
    const before = { left: 0, right: free, centre: Math.floor(free / 2) }[this.#sides[at] ?? 'left'];
    const isLast = at === this.#widths.length - 1;
    return [span(' '.repeat(before)), ...cell, span(isLast ? '' : ' '.repeat(free - before))];
  }
}

/** The widest columns give way first. */
function fitted(wanted: number[], room: number): number[] {
  const widths = [...wanted];
  let over = widths.reduce((sum, width) => sum + width, 0) - room;
  while (over > 0) {
    const most = Math.max(...widths);
    if (most <= NARROWEST) break;
    const at = widths.indexOf(most);
    const next = Math.max(NARROWEST, ...widths.filter((width) => width < most));
    const step = Math.min(over, Math.max(1, most - next));
    widths[at] = most - step;
    over -= step;
  }
  return widths;
}

function sideOf(cell: string): Side {
  const [begins, ends] = [cell.startsWith(':'), cell.endsWith(':')];
  if (ends) return begins ? 'centre' : 'right';
  return 'left';
}

/** A bar behind a backslash, or inside of code, is text. */
function cellsOf(row: string): string[] {
  const inner = row
    .trim()
    .replace(/^\|/, '')
    .replace(/(?<!\\)\|$/, '');
  return inner.split(/(?<!\\)\|/).map((cell) => cell.replaceAll('\\|', '|').trim());
}
