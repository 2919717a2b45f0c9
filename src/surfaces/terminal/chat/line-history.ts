const LONGEST = 1_000;

/** What was typed before, newest first, and where in it somebody is looking. */
export class LineHistory {
  readonly lines: string[];
  #at = -1;
  /** What was typed before the first look back: only lines that begin with it are shown. */
  #draft = '';

  constructor(lines: readonly string[]) {
    this.lines = [...lines];
  }

  add(line: string): void {
    this.#at = -1;
    if (line.trim() === '') return;
    const others = this.lines.filter((each) => each !== line);
    this.lines.splice(0, this.lines.length, line, ...others.slice(0, LONGEST - 1));
  }

  /** A new line begins. */
  leave(): void {
    this.#at = -1;
  }

  older(current: string): string | undefined {
    if (this.#at === -1) this.#draft = current;
    return this.#goTo(this.find((line) => line.startsWith(this.#draft) && line !== current, this.#at + 1));
  }

  newer(current: string): string | undefined {
    for (let at = this.#at - 1; at >= 0; at--) {
      const line = this.lines[at] ?? '';
      if (line.startsWith(this.#draft) && line !== current) return this.#goTo(at);
    }
    if (this.#at === -1) return undefined;
    this.#at = -1;
    return this.#draft;
  }

  /** Where the next older line is that is meant; -1: there is none. */
  find(isMeant: (line: string) => boolean, from = 0): number {
    const at = this.lines.slice(from).findIndex(isMeant);
    return at === -1 ? -1 : at + from;
  }

  #goTo(at: number): string | undefined {
    if (at === -1) return undefined;
    this.#at = at;
    return this.lines[at];
  }
}

/** Ctrl-R: looks for the newest line that contains what is typed, and with each further Ctrl-R for an older one. */
export class HistorySearch {
  readonly #history: LineHistory;
  /** The line before, which Ctrl-G brings back. */
  readonly before: string;
  #query = '';
  #at = 0;

  constructor(history: LineHistory, before: string) {
    this.#history = history;
    this.before = before;
  }

  get query(): string {
    return this.#query;
  }

  /** Undefined: no line contains it. */
  get found(): string | undefined {
    return this.#query === '' ? undefined : this.#history.lines[this.#at];
  }

  /** False: the line does not contain it, or no older one does. */
  type(text: string): boolean {
    return this.#look(this.#query + text, this.#at);
  }

  older(): boolean {
    return this.#look(this.#query, this.#at + 1);
  }

  shorten(): void {
    this.#query = [...this.#query].slice(0, -1).join('');
    this.#at = Math.max(0, this.#find(this.#query, 0));
  }

  #look(query: string, from: number): boolean {
    const at = this.#find(query, from);
    if (at === -1) return false;
    this.#query = query;
    this.#at = at;
    return true;
  }

  #find(query: string, from: number): number {
    const wanted = query.toLowerCase();
    return this.#history.find((line) => line.toLowerCase().includes(wanted), from);
  }
}
