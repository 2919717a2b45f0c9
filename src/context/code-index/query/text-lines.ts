import { beginsPart, classAt, JOINT, NONE } from '../words/characters.ts';

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

/** Searches a string, which costs a fraction of searching a buffer. */
function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return starts;
}

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

/** Finds the names that have a term as a part, by their positions. All names are searched at once: one by one takes ten times as long. */
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
