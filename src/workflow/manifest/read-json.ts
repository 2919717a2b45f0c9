import type { Json } from '../../protocol/workflow.ts';
import { DEEPEST, SourceFault, type SourceTree, stepOf } from './source.ts';

const LITERAL = /true|false|null/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const BLANKS = /[ \t\r\n]*/y;
const PLAIN = /[^"\\]*/y;

/** JSON with the place of every value. `JSON.parse` keeps no places and accepts equal keys. */
export function readJson(text: string): SourceTree {
  const reader = new JsonReader(text.startsWith('\uFEFF') ? ` ${text.slice(1)}` : text);
  const value = reader.value('', 0);
  reader.end();
  return { value, offsets: reader.offsets };
}

class JsonReader {
  readonly offsets = new Map<string, number>();
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(pointer: string, depth: number): Json {
    this.#match(BLANKS);
    if (depth > DEEPEST) this.#fail(`nested deeper than ${DEEPEST} levels`);
    this.offsets.set(pointer, this.#at);
    const first = this.#text[this.#at];
    if (first === '{') return this.#object(pointer, depth);
    if (first === '[') return this.#list(pointer, depth);
    if (first === '"') return this.#string();
    const literal = this.#match(LITERAL) || this.#match(NUMBER);
    if (literal === '')
      this.#fail(first === undefined ? 'the file ends too early' : `unexpected ${JSON.stringify(first)}`);
    const value: Json = JSON.parse(literal);
    if (typeof value === 'number' && !Number.isFinite(value)) this.#fail('the number is too large');
    return value;
  }

  end(): void {
    this.#match(BLANKS);
    if (this.#at < this.#text.length) this.#fail('there is something after the end of the document');
  }

  #object(pointer: string, depth: number): Json {
    const entries = new Map<string, Json>();
    this.#at += 1;
    if (this.#takes('}')) return {};
    do {
      this.#match(BLANKS);
      const start = this.#at;
      if (this.#text[this.#at] !== '"') this.#fail('expected a key in double quotes');
      const key = this.#string();
      if (entries.has(key)) throw new SourceFault(`the key ${JSON.stringify(key)} is there twice`, start);
      if (!this.#takes(':')) this.#fail('expected ":"');
      entries.set(key, this.value(pointer + stepOf(key), depth + 1));
    } while (this.#takes(','));
    if (!this.#takes('}')) this.#fail('expected "," or "}"');
    return Object.fromEntries(entries);
  }

  #list(pointer: string, depth: number): Json {
    const items: Json[] = [];
    this.#at += 1;
    if (this.#takes(']')) return items;
    do items.push(this.value(pointer + stepOf(items.length), depth + 1));
    while (this.#takes(','));
    if (!this.#takes(']')) this.#fail('expected "," or "]"');
    return items;
  }

  #string(): string {
    const start = this.#at;
    this.#at += 1;
    for (;;) {
      this.#match(PLAIN);
      const sign = this.#text[this.#at];
      if (sign === undefined) throw new SourceFault('a string does not end', start);
      this.#at += sign === '"' ? 1 : 2;
      if (sign === '"') return this.#unescape(start);
    }
  }

  #unescape(start: number): string {
    try {
      return String(JSON.parse(this.#text.slice(start, this.#at)));
    } catch (cause) {
      throw new SourceFault('the string holds a bad escape or a line break', start, { cause });
    }
  }

  #takes(sign: string): boolean {
    this.#match(BLANKS);
    if (this.#text[this.#at] !== sign) return false;
    this.#at += 1;
    return true;
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0] ?? '';
    this.#at += found.length;
    return found;
  }

  #fail(message: string): never {
    throw new SourceFault(message, this.#at);
  }
}
