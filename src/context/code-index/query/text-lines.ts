import { LineIndex } from '../../../base/line-index.ts';
import { beginsPart, classAt, JOINT, NONE } from '../words/characters.ts';

/** A text by its lines, counted from 1, without a string for each. */
export class TextLines {
  readonly text: string;
  readonly #index: LineIndex;

  constructor(text: string, index = new LineIndex(text)) {
    this.text = text;
    this.#index = index;
  }

  /** In lower case. Lines begin at the same places unless a letter becomes two, as `İ` does; none becomes fewer. */
  folded(): TextLines {
    const text = this.text.toLowerCase();
    return text.length === this.text.length ? new TextLines(text, this.#index) : new TextLines(text);
  }

  get count(): number {
    return this.lineAt(this.text.length);
  }

  #start(line: number): number {
    return this.#index.index({ line, column: 0 });
  }

  /** From one line to another, both included. Lines after the last are empty. */
  cut(from: number, to: number): string {
    return this.text.slice(this.#start(from), this.#index.lineEnd(this.#start(to)));
  }

  lineAt(at: number): number {
    return this.#index.position(at).line;
  }

  /** The lines that hold a string, each once. */
  linesWith(wanted: string): number[] {
    const lines: number[] = [];
    for (let at = this.text.indexOf(wanted); at !== -1; at = this.text.indexOf(wanted, at)) {
      const line = this.lineAt(at);
      lines.push(line);
      at = this.#start(line + 1);
    }
    return lines;
  }
}

/** Finds the offsets of the bytes where a term stands as a word or part of one. */
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

/** In Latin-1 every byte is one character, folded or not, so offsets stay those of the bytes. */
export function byBytes(bytes: Buffer): string {
  return bytes.toString('latin1');
}

/** Finds the positions of the names that have a term as a part. All are searched at once: one by one takes ten times as long. */
export function namesWith(names: readonly string[]): (term: string) => number[] {
  const lines = names.map((name) => name.replaceAll('\n', ' ')); // a computed key may span several lines
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
