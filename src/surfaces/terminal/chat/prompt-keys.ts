import type { Interface } from 'node:readline';
import { HistorySearch, type LineHistory } from './line-history.ts';

const [NEWLINE, SEARCH, ABORT, INTERRUPT] = ['\n', '\u0012', '\u0007', '\u0003'];
const UP = new Set(['\u001b[A', '\u001bOA', '\u0010']);
const DOWN = new Set(['\u001b[B', '\u001bOB', '\u000e']);
const BACKSPACE = new Set(['\u007f', '\b']);

/** What readline lacks at the prompt: texts of several lines, a search in the history, and pasted text as it is. */
export class PromptKeys {
  readonly #readline: Interface;
  readonly #history: LineHistory;
  #prompt = '';
  /** A question has an answer of one line, and no history. */
  #isText = false;
  #search: HistorySearch | undefined;

  constructor(readline: Interface, history: LineHistory) {
    this.#readline = readline;
    this.#history = history;
  }

  begin(prompt: string, isText: boolean): void {
    this.#prompt = prompt;
    this.#isText = isText;
    this.#search = undefined;
    this.#history.leave();
    this.#readline.setPrompt(prompt);
  }

  take(key: string): boolean {
    if (this.#search) return this.#searching(this.#search, key);
    if (!this.#isText) return key === NEWLINE || key === SEARCH || UP.has(key) || DOWN.has(key);
    if (key === NEWLINE) return this.#insert('\n');
    if (key === SEARCH) return this.#begin();
    if (UP.has(key)) return this.#vertical(-1);
    return DOWN.has(key) && this.#vertical(1);
  }

  paste(text: string): void {
    if (this.#search) this.#end(this.#search.found ?? this.#search.before);
    const lines = text.replace(/\n$/, '');
    this.#insert(this.#isText ? lines : lines.replaceAll('\n', ' '));
  }

  /** Ctrl-C. */
  drop(): void {
    this.#search = undefined;
    this.#history.leave();
    this.#readline.setPrompt(this.#prompt);
    Object.assign(this.#readline, { line: '', cursor: 0, prevRows: 0 });
    this.#markLines(false);
  }

  /** What clears the prompt and the text behind it, to write something above. */
  cleared(): string {
    const { rows } = this.#readline.getCursorPos();
    Object.assign(this.#readline, { prevRows: 0 });
    return `\r${rows > 0 ? `\u001b[${rows}A` : ''}\u001b[J`;
  }

  #insert(text: string): true {
    const { line, cursor } = this.#readline;
    return this.#show(line.slice(0, cursor) + text + line.slice(cursor), cursor + text.length);
  }

  #show(line: string, cursor = line.length): true {
    Object.assign(this.#readline, { line, cursor });
    this.#markLines(line.includes('\n'));
    this.#readline.prompt(true);
    return true;
  }

  /** From Node 24 on readline marks the further lines of a text, but looks for them only in what it has edited itself. */
  #markLines(isSeveral: boolean): void {
    const mark = Object.getOwnPropertySymbols(this.#readline).find(({ description }) => description === '_isMultiline');
    if (mark) Object.assign(this.#readline, { [mark]: isSeveral });
  }

  /** To the line above or below, and beyond the text to what was typed before. */
  #vertical(step: -1 | 1): true {
    const { line, cursor } = this.#readline;
    const begins = line.lastIndexOf('\n', cursor - 1) + 1;
    const ends = line.indexOf('\n', cursor);
    if (step === -1 ? begins > 0 : ends !== -1) {
      const from = step === -1 ? line.lastIndexOf('\n', begins - 2) + 1 : ends + 1;
      const behind = line.indexOf('\n', from);
      const last = behind === -1 ? line.length : behind;
      return this.#show(line, Math.min(from + cursor - begins, last));
    }
    const found = step === -1 ? this.#history.older(line) : this.#history.newer(line);
    return found === undefined ? true : this.#show(found);
  }

  #begin(): true {
    this.#search = new HistorySearch(this.#history, this.#readline.line);
    return this.#showSearch(this.#search, true);
  }

  #searching(search: HistorySearch, key: string): boolean {
    if (key === SEARCH) return this.#showSearch(search, search.older());
    if (BACKSPACE.has(key)) {
      search.shorten();
      return this.#showSearch(search, true);
    }
    if (key === ABORT) return this.#end(search.before);
    if (key === INTERRUPT) {
      this.#end('');
      return false;
    }
    if (key >= ' ') return this.#showSearch(search, search.type(key));
    // Any other key takes what was found, and does what it does.
    this.#end(search.found ?? search.before);
    return key === '\u001b' || this.take(key);
  }

  #showSearch(search: HistorySearch, isFound: boolean): true {
    this.#readline.setPrompt(`${isFound ? '' : 'no older line; '}search: ${search.query} → `);
    return this.#show(search.found ?? '');
  }

  #end(line: string): true {
    this.#search = undefined;
    this.#readline.setPrompt(this.#prompt);
    return this.#show(line);
  }
}
