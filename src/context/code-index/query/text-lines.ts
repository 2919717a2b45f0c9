/** A text by its lines, counted from 1, without a string for each. */
export class TextLines {
  readonly text: string;
  readonly #starts: readonly number[];

  constructor(text: string, starts: readonly number[] = lineStarts(text)) {
    this.text = text;
    this.#starts = starts;
  }

  /** In lower case. The lines begin where they did, unless a letter has become two, as `İ` does; none becomes fewer. */
  folded(): TextLines {
    const text = this.text.toLowerCase();
    return text.length === this.text.length ? new TextLines(text, this.#starts) : new TextLines(text);
  }

  get count(): number {
    return this.#starts.length;
  }

  /** From one line to another, both included; what lies behind the last is nothing. */
  cut(from: number, to: number): string {
    const begin = this.#starts[from - 1] ?? this.text.length;
    const next = this.#starts[to];
    return this.text.slice(begin, next === undefined ? this.text.length : next - 1);
  }

  /** The line a place in the text is on. */
  lineAt(at: number): number {
    let low = 0;
    let high = this.#starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if ((this.#starts[middle] as number) <= at) low = middle;
      else high = middle - 1;
    }
    return low + 1;
  }

  /** The lines in which a string stands, each once. */
  linesWith(wanted: string): number[] {
    const lines: number[] = [];
    for (let at = this.text.indexOf(wanted); at !== -1; ) {
      const line = this.lineAt(at);
      lines.push(line);
      const next = this.#starts[line];
      at = next === undefined ? -1 : this.text.indexOf(wanted, next);
    }
    return lines;
  }
}

/** Of a string, where a search costs a fraction of one in a buffer. */
function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return starts;
}
