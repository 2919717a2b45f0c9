import { printable } from './printable.ts';

/** What the next piece may complete: a line break, a character, or the style of an emoji. */
const UNDECIDED = /(?:\r|[\ud800-\udbff]|\p{Extended_Pictographic}[\ufe0e\ufe0f\u200d]*)$/u;

/** Cleans a text that comes in pieces as if it were whole. */
export class PrintableStream {
  #before = '';
  #held = '';

  take(piece: string): string {
    const text = this.#held + piece;
    const undecided = UNDECIDED.exec(text)?.[0] ?? '';
    // An emoji is shown at once; only what styles it depends on what comes before.
    const isEmoji = undecided !== '' && undecided !== '\r' && !/^[\ud800-\udbff]$/.test(undecided);
    this.#held = isEmoji ? '' : undecided;
    const shown = printable(this.#before + text.slice(0, text.length - this.#held.length));
    const cleaned = shown.slice(printable(this.#before).length);
    this.#before = isEmoji ? undecided : '';
    return cleaned;
  }

  end(): string {
    const rest = printable(this.#held);
    this.#before = '';
    this.#held = '';
    return rest;
  }
}
