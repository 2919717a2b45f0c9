import { PrintableStream } from '../../../base/printable-stream.ts';
import type { AnswerSink } from '../../../runtime/engine/emitter.ts';
import type { AnswerText } from '../../render/answer/answer-text.ts';
import { displayWidth } from '../../render/columns.ts';

export interface Size {
  columns: number;
  rows: number;
}

export interface AnswerScreen {
  write(text: string): void;
  /** Undefined: somebody is asked something below, and nothing above may be drawn again. */
  size(): Size | undefined;
}

type OpenText = (columns: () => number) => Promise<AnswerText>;

/** Terminals that know it show what is between the two at once. */
const [TOGETHER, SHOWN] = ['\u001b[?2026h', '\u001b[?2026l'];
/** The terminal writes `^C` behind what is there. */
const MARGIN = 3;
const FALLBACK: Size = { columns: 80, rows: 24 };

/**
 * An answer as it comes. A block that is complete is written once, with its style, and never touched again. The block under way
 * stands below it as it was written; it is drawn again when it is complete, and is never longer than the screen.
 */
export class AnswerView implements AnswerSink {
  readonly #screen: AnswerScreen;
  readonly #open: OpenText;
  /** Opened when a line is complete: the first word waits for nothing. */
  #text: AnswerText | undefined;
  readonly #cleaner = new PrintableStream();
  /** The last line, which has not ended yet. */
  #line = '';
  /** The rows under way, and the columns used of the last one. */
  #rows = 0;
  #used = 0;
  #size: Size | undefined;
  #columns = FALLBACK.columns;
  /** What is under way stays as it is, to the end of its line. */
  #isFrozen = false;

  constructor(open: OpenText, screen: AnswerScreen) {
    this.#screen = screen;
    this.#open = open;
  }

  async part(text: string): Promise<void> {
    await this.#take(this.#cleaner.take(text));
  }

  /** The answer is over, or broken off. The cursor stands at the beginning of a line then. */
  async end(): Promise<void> {
    await this.#take(this.#cleaner.end());
    this.#notice();
    const line = this.#line;
    this.#line = '';
    const text = await this.#opened();
    const shown = line === '' ? [] : await text.line(line);
    if (this.#isFrozen) {
      text.skip();
      this.#thaw();
      shown.length = 0;
    }
    this.#draw([...shown, ...(await text.end())]);
  }

  /** Somebody else writes to the terminal: what is under way stays as it is. */
  pause(): void {
    if (this.#rows === 0 || this.#isFrozen) return;
    this.#screen.write('\n');
    this.#used = 0;
    this.#isFrozen = true;
  }

  async #take(text: string): Promise<void> {
    if (text === '') return;
    this.#notice();
    const lines = text.split('\n');
    const rest = lines.pop() ?? '';
    const shown: string[] = [];
    for (const line of lines) {
      if (this.#isFrozen) await this.#frozenLine(line);
      else shown.push(...(await (await this.#opened()).line(this.#line + line)));
      this.#line = '';
    }
    this.#line += rest;
    if (this.#isFrozen) return this.#append(rest);
    while (this.#isTooLong()) shown.push(...(await this.#cut()));
    if (shown.length === 0 && this.#rows > 0) this.#append(text);
    else this.#draw(shown);
  }

  /** The rest of a line whose beginning cannot be drawn again. */
  async #frozenLine(line: string): Promise<void> {
    this.#append(line);
    const text = await this.#opened();
    await text.line(this.#line + line);
    text.skip();
    this.#thaw();
  }

  async #opened(): Promise<AnswerText> {
    this.#text ??= await this.#open(() => this.#columns);
    return this.#text;
  }

  get #pending(): string {
    return this.#text?.pending ?? '';
  }

  #thaw(): void {
    if (this.#used > 0) this.#screen.write('\n');
    this.#isFrozen = false;
    this.#rows = 0;
    this.#used = 0;
  }

  /** After a change of size nobody knows where the rows under way are. */
  #notice(): void {
    const size = this.#screen.size();
    const isSame = size?.columns === this.#size?.columns && size?.rows === this.#size?.rows;
    if (!isSame && this.#rows > 0) this.#isFrozen = true;
    this.#size = size;
    this.#columns = size?.columns ?? this.#columns;
  }

  /** What has left the top of the screen could not be drawn again. */
  #isTooLong(): boolean {
    if (!this.#size) return false;
    const text = this.#pending + this.#line;
    const isShort = text.length < this.#size.rows;
    return !isShort && laid(text, { rows: 0, used: 0 }, this.#size).rows > this.#size.rows - 2;
  }

  async #cut(): Promise<string[]> {
    const isOneWord = this.#pending === '' && !this.#line.includes(' ');
    const at = isOneWord ? this.#line.length : breakIn(this.#line);
    const begun = this.#line.slice(0, at);
    this.#line = this.#line.slice(at).trimStart();
    return (await this.#opened()).cut(begun);
  }

  /** Writes what is complete in place of what was under way, and below it what is under way now. */
  #draw(complete: readonly string[]): void {
    const rows = this.#rows;
    // Row by row: to clear all of a screen would move it into the history of some terminals.
    const back = rows === 0 ? '' : `\u001b[2K${'\u001b[A\u001b[2K'.repeat(rows - 1)}\r`;
    this.#rows = 0;
    this.#used = 0;
    const whole = complete.map((line) => `${line}\n`).join('');
    const all = whole + (this.#size ? this.#raw(this.#pending + this.#line) : '');
    if (back === '') {
      if (all !== '') this.#screen.write(all);
    } else this.#screen.write(TOGETHER + back + all + SHOWN);
  }

  #append(text: string): void {
    if (this.#isFrozen) {
      this.#screen.write(text);
      this.#used += text.length;
    } else this.#screen.write(this.#laid(text));
  }

  /** What is under way, below the blank line that belongs before it. */
  #raw(text: string): string {
    return text.trim() === '' ? '' : (this.#text?.gap() ?? '') + this.#laid(text);
  }

  #laid(text: string): string {
    if (!this.#size) return '';
    const { rows, used, written } = laid(text, { rows: this.#rows, used: this.#used }, this.#size);
    this.#rows = rows;
    this.#used = used;
    return written;
  }
}

interface Place {
  /** How many rows there are, and the columns used of the last one. */
  rows: number;
  used: number;
}

/** In rows that no terminal breaks once more, however wide it takes a character to be: so they can be counted. */
function laid(text: string, from: Place, { columns }: Size): Place & { written: string } {
  const width = Math.max(2, columns - MARGIN);
  let { rows, used } = from;
  let written = '';
  for (const character of text.replaceAll('\t', '    ')) {
    const wide = mostColumns(character);
    rows ||= 1;
    if (character === '\n' || used + wide > width) {
      written += '\n';
      rows += 1;
      used = 0;
    }
    if (character === '\n') continue;
    written += character;
    used += wide;
  }
  return { rows, used, written };
}

/** Terminals differ in how wide a symbol is, and in what they make one of. */
function mostColumns(character: string): number {
  if (character < '\u0300') return 1;
  return /[\p{L}\p{N}]/u.test(character) ? displayWidth(character) : 2;
}

/** Behind the last blank that is surely in no emphasis, code or link; else behind the last one. */
function breakIn(line: string): number {
  const open = line.search(/[*_`[~<](?=[^*_`[~<]*$)/);
  const sure = open === -1 ? line : line.slice(0, open);
  const at = sure.lastIndexOf(' ') + 1;
  return at > line.length / 2 ? at : line.lastIndexOf(' ') + 1;
}
