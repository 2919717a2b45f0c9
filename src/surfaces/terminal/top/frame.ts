const ENTER = '\u001b[?1049h\u001b[?25l\u001b[2J';
const LEAVE = '\u001b[?25h\u001b[?1049l';
/** A terminal that knows these shows a frame when it is whole; others ignore them. */
const BEGIN = '\u001b[?2026h';
const END = '\u001b[?2026l';

/** A screen of its own in the terminal. Only the lines that changed are written, so that it is quiet over a slow connection. */
export class Frame {
  readonly #write: (text: string) => boolean;
  #shown: readonly string[] = [];
  #isFull = false;

  /** `write` says false while the terminal has not taken what was written before. */
  constructor(write: (text: string) => boolean) {
    this.#write = write;
    write(ENTER);
  }

  /** The size changed, or somebody else wrote: everything is drawn again. */
  forget(): void {
    this.#shown = [];
    this.#write('\u001b[2J');
  }

  draw(lines: readonly string[]): void {
    if (this.#isFull) return;
    const changed = lines.flatMap((line, row) =>
      line === this.#shown[row] ? [] : [`\u001b[${row + 1};1H${line}\u001b[0m\u001b[K`],
    );
    if (changed.length === 0) return;
    this.#shown = lines;
    this.#isFull = !this.#write(BEGIN + changed.join('') + END);
  }

  /** The terminal has taken everything: a frame that was left out may be drawn. */
  drained(): void {
    this.#isFull = false;
  }

  bell(): void {
    this.#write('\u0007');
  }

  close(): void {
    this.#write(LEAVE);
  }
}
