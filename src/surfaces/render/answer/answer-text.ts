import { Blocks, type Container, type Leaf } from './blocks.ts';
import type { LeafLines } from './leaf-lines.ts';
import { painted, type Span, span, widthOf } from './spans.ts';
import type { AnswerLook } from './theme.ts';

const NARROWEST = 8;

/** Markdown line by line, as lines for a terminal. What a line completes is handed out at once and never again. */
export class AnswerText {
  readonly #look: AnswerLook;
  readonly #columns: () => number;
  readonly #blocks = new Blocks();
  /** Items whose marker has been shown. */
  readonly #begun = new WeakSet<Container>();
  /** Loaded when the first leaf is complete: the first word of an answer does not wait for it. */
  #leaves: LeafLines | undefined;
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
    const gap = this.#takeGap();
    this.#isEmpty = false;
    const first = this.#before(leaf.within);
    const columns = Math.max(NARROWEST, this.#columns() - widthOf(first));
    this.#leaves ??= new (await import('./leaf-lines.ts')).LeafLines(this.#look);
    const lines = await this.#leaves.of(leaf, { columns, goesOn });
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
}
