interface Position {
  /** From 1. */
  line: number;
  /** From 0, in UTF-16 units. */
  column: number;
}

/** From lines and columns to indexes of a text and back. */
export class LineIndex {
  readonly #starts: number[] = [0];
  readonly #length: number;

  constructor(text: string) {
    this.#length = text.length;
    for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) this.#starts.push(at + 1);
  }

  index({ line, column }: Position): number {
    return Math.min((this.#starts[line - 1] ?? this.#length) + column, this.#length);
  }

  position(index: number): Position {
    let low = 0;
    for (let high = this.#starts.length; high - low > 1; ) {
      const middle = (low + high) >> 1;
      if ((this.#starts[middle] ?? 0) <= index) low = middle;
      else high = middle;
    }
    return { line: low + 1, column: index - (this.#starts[low] ?? 0) };
  }

  /** The index where the line around an index ends, its newline excluded. */
  lineEnd(index: number): number {
    return (this.#starts[this.position(index).line] ?? this.#length + 1) - 1;
  }
}
