/** How a language writes comments and strings, to read it without a grammar. */
export interface LexicalRules {
  lineComments: readonly string[];
  blockComments: readonly { open: string; close: string; nests: boolean }[];
  /** Tried in order, so longer openings come first. */
  strings: readonly StringRule[];
}

interface StringRule {
  open: RegExp;
  close: (opening: string) => string;
  /** Opens code inside the string, up to the bracket that matches its last character. */
  interpolation?: (opening: string) => string;
  /** The character after it does not end the string. Raw strings have no escape. */
  escape?: string;
  multiline: boolean;
}

export const CODE = 0;
export const COMMENT = 1;
const STRING = 2;

interface Frame {
  rule: StringRule;
  close: string;
  interpolation: string | undefined;
  /** Open brackets of the code inside an interpolation. Undefined inside the string itself. */
  depth: number | undefined;
}

/** The class of every UTF-16 unit: code, comment or string. It takes one pass over any text. */
export function lexicalMask(text: string, rules: LexicalRules): Uint8Array {
  return new Masker(text, rules).run();
}

class Masker {
  readonly #text: string;
  readonly #rules: LexicalRules;
  readonly #mask: Uint8Array;
  readonly #frames: Frame[] = [];
  #at = 0;

  constructor(text: string, rules: LexicalRules) {
    this.#text = text;
    this.#rules = rules;
    this.#mask = new Uint8Array(text.length);
  }

  run(): Uint8Array {
    while (this.#at < this.#text.length) {
      const frame = this.#frames.at(-1);
      if (frame !== undefined && frame.depth === undefined) this.#stepString(frame);
      else this.#stepCode(frame);
    }
    return this.#mask;
  }

  #take(length: number, kind: number): void {
    this.#mask.fill(kind, this.#at, this.#at + length);
    this.#at += length;
  }

  #stepString(frame: Frame): void {
    const { rule, close, interpolation } = frame;
    if (interpolation !== undefined && this.#text.startsWith(interpolation, this.#at)) {
      this.#take(interpolation.length, STRING);
      frame.depth = 1;
    } else if (rule.escape !== undefined && this.#text.startsWith(rule.escape, this.#at)) {
      this.#take(rule.escape.length + 1, STRING);
    } else if (this.#text.startsWith(close, this.#at)) {
      this.#take(close.length, STRING);
      this.#frames.pop();
    } else {
      if (!rule.multiline && this.#text.charAt(this.#at) === '\n') this.#frames.pop(); // never closed
      this.#take(1, STRING);
    }
  }

  #stepCode(frame: Frame | undefined): void {
    if (this.#comment() || this.#openString()) return;
    if (frame !== undefined) this.#countBracket(frame);
    this.#take(1, CODE);
  }

  #countBracket(frame: Frame): void {
    const character = this.#text.charAt(this.#at);
    if ('([{'.includes(character)) frame.depth = (frame.depth ?? 0) + 1;
    if (!')]}'.includes(character)) return;
    frame.depth = (frame.depth ?? 0) - 1;
    if (frame.depth <= 0) frame.depth = undefined;
  }

  #comment(): boolean {
    if (this.#rules.lineComments.some((mark) => this.#text.startsWith(mark, this.#at))) {
      const end = this.#text.indexOf('\n', this.#at);
      this.#take((end === -1 ? this.#text.length : end) - this.#at, COMMENT);
      return true;
    }
    const block = this.#rules.blockComments.find(({ open }) => this.#text.startsWith(open, this.#at));
    if (block === undefined) return false;
    this.#take(blockLength(this.#text, this.#at, block), COMMENT);
    return true;
  }

  #openString(): boolean {
    for (const rule of this.#rules.strings) {
      rule.open.lastIndex = this.#at; // sticky
      const opening = rule.open.exec(this.#text)?.[0];
      if (opening === undefined) continue;
      this.#take(opening.length, STRING);
      const interpolation = rule.interpolation?.(opening);
      this.#frames.push({ rule, close: rule.close(opening), interpolation, depth: undefined });
      return true;
    }
    return false;
  }
}

function blockLength(text: string, start: number, block: LexicalRules['blockComments'][number]): number {
  let depth = 0;
  for (let at = start; at < text.length; ) {
    if (text.startsWith(block.open, at) && (depth === 0 || block.nests)) {
      depth++;
      at += block.open.length;
    } else if (text.startsWith(block.close, at)) {
      at += block.close.length;
      if (--depth === 0) return at - start;
    } else at++;
  }
  return text.length - start;
}
