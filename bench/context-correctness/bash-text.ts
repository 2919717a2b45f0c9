/** Where Bash is code, by its own rules of quoting and without our grammar: the second opinion on what that calls text. */
export function bashCode(text: string): (index: number) => boolean {
  const reader = new BashReader(text);
  reader.readAll();
  return (index) => reader.isCode(index);
}

/** What code is read inside: commands may hold comments and here-documents, arithmetic and `${…}` may not. */
type Inside = 'commands' | 'arithmetic' | 'expansion';

interface HereDocument {
  end: string;
  /** `<<-`: tabs before its lines do not count. */
  isIndented: boolean;
  /** A quoted end: nothing is expanded. */
  isRaw: boolean;
}

const HERE_DOCUMENT = /<<(-?)[ \t]*(?:'([^'\n]+)'|"([^"\n]+)"|(\\?)([^\s'"<>|&;()]+))/y;
const VARIABLE = /\$(?:\w+|[@*#?$!-])/y;

class BashReader {
  readonly #text: string;
  readonly #isText: Uint8Array;
  readonly #awaited: HereDocument[] = [];
  #at = 0;

  constructor(text: string) {
    this.#text = text;
    this.#isText = new Uint8Array(text.length);
  }

  isCode(index: number): boolean {
    return this.#isText[index] === 0;
  }

  readAll(): void {
    while (this.#at < this.#text.length) {
      this.#code('commands', '');
      this.#at++; // a bracket nobody opened: of a `case`
    }
  }

  /** Up to `close`, which is left to the caller. */
  #code(inside: Inside, close: string): void {
    let open = 0;
    while (this.#at < this.#text.length) {
      const character = this.#text.charAt(this.#at);
      if (character === close && open === 0) return;
      if (this.#quoted(character) || this.#expanded()) continue;
      if (inside === 'commands' && this.#ofCommands(character)) continue;
      if (inside !== 'expansion') open = Math.max(0, open + bracket(character));
      this.#at += character === '\\' ? 2 : 1;
    }
  }

  #quoted(character: string): boolean {
    if (character === '"') this.#string('"');
    else if (character === "'") this.#rawString(false);
    else if (this.#is("$'")) this.#rawString(true);
    else return false;
    return true;
  }

  #ofCommands(character: string): boolean {
    if (character === '#' && /[\s;&|()]|^$/.test(this.#text.charAt(this.#at - 1))) this.#mark(this.#lineEnd());
    else if (character === '\n' && this.#awaited.length > 0) this.#hereDocuments();
    else if (this.#is('<<<')) this.#at += 3;
    else if (this.#is('<<')) this.#announce();
    else if (this.#is('((')) this.#nested('((', 'arithmetic', ')');
    else return false;
    return true;
  }

  /** `$(…)`, `${…}`, backquotes and `$name`: code, wherever they stand. */
  #expanded(): boolean {
    if (this.#is('$((')) return this.#nested('$((', 'arithmetic', ')');
    if (this.#is('$(')) return this.#nested('$(', 'commands', ')');
    if (this.#is('${')) return this.#nested('${', 'expansion', '}');
    if (this.#is('`')) return this.#nested('`', 'commands', '`');
    const variable = this.#match(VARIABLE);
    this.#at += variable?.[0].length ?? 0;
    return variable !== null;
  }

  #nested(opening: string, inside: Inside, close: string): true {
    this.#at += opening.length;
    this.#code(inside, close);
    this.#at += opening.endsWith('((') ? 2 : 1;
    return true;
  }

  #rawString(hasEscapes: boolean): void {
    let end = this.#text.indexOf("'", this.#at) + 1;
    while (end < this.#text.length && this.#text.charAt(end) !== "'")
      end += hasEscapes && this.#text.charAt(end) === '\\' ? 2 : 1;
    this.#mark(end + 1);
  }

  #string(close: string): void {
    this.#mark(this.#at + 1);
    while (this.#at < this.#text.length && !this.#is(close)) this.#ofString();
    this.#mark(this.#at + 1);
  }

  #ofString(): void {
    if (!this.#expanded()) this.#mark(this.#at + (this.#is('\\') ? 2 : 1));
  }

  #announce(): void {
    const found = this.#match(HERE_DOCUMENT);
    this.#at += found?.[0].length ?? 2;
    if (found === null) return;
    const [, dash, single, double, backslash, plain] = found;
    const end = single ?? double ?? plain ?? '';
    this.#awaited.push({ end, isIndented: dash === '-', isRaw: plain === undefined || backslash === '\\' });
  }

  #hereDocuments(): void {
    this.#at++;
    for (const document of this.#awaited.splice(0)) {
      const end = this.#endOf(document);
      while (this.#at < end) {
        if (document.isRaw) this.#mark(end);
        else this.#ofString();
      }
      this.#mark(this.#lineEnd());
    }
  }

  #endOf({ end, isIndented }: HereDocument): number {
    let at = this.#at;
    for (const line of this.#text.slice(at).split('\n')) {
      if ((isIndented ? line.replace(/^\t+/, '') : line) === end) return at;
      at += line.length + 1;
    }
    return this.#text.length;
  }

  #lineEnd(): number {
    const end = this.#text.indexOf('\n', this.#at);
    return end === -1 ? this.#text.length : end;
  }

  #mark(end: number): void {
    this.#isText.fill(1, this.#at, end);
    this.#at = end;
  }

  #is(text: string): boolean {
    return this.#text.startsWith(text, this.#at);
  }

  #match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at;
    return pattern.exec(this.#text);
  }
}

function bracket(character: string): -1 | 0 | 1 {
  if (character === '(') return 1;
  return character === ')' ? -1 : 0;
}
