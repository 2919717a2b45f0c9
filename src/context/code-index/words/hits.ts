import { CLASSES, classAt, NONE } from './characters.ts';

export interface Hit {
  /** From 1. */
  line: number;
  /** From 0, in UTF-16 units, as everywhere in code context. */
  column: number;
  lineText: string;
}

const DOLLAR_LANGUAGES: ReadonlySet<string> = new Set(['typescript', 'tsx', 'javascript', 'java', 'kotlin', 'scala']);

/** Whether `$` belongs to names, as in JavaScript, or stands before them, as in PHP and shells. */
export function hasDollarNames(language: string | undefined): boolean {
  return DOLLAR_LANGUAGES.has(language ?? '');
}

const NEWLINE = 0x0a;
const DOLLAR = 0x24;
const LONGEST_CHARACTER = 4;
const MAX_LINE_TEXT = 300;
const WORD_CHARACTER = /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]/u;

interface Wanted {
  name: string;
  isDollarInNames: boolean;
}

/** Every place where the name stands as a whole word. Nothing is left out: what it is, a parser decides later (C-060). */
export function wordHits(bytes: Buffer, { name, isDollarInNames }: Wanted): Hit[] {
  const wanted = Buffer.from(name, 'utf8');
  const hits: Hit[] = [];
  if (wanted.length === 0) return hits;
  const lines = new LineWalk(bytes);
  for (let at = bytes.indexOf(wanted); at !== -1; at = bytes.indexOf(wanted, at + 1)) {
    const end = at + wanted.length;
    const joinsBefore = isWordAt(bytes, at) && endsWord(bytes, at, isDollarInNames);
    const joinsAfter = isWordAt(bytes, end - 1) && beginsWord(bytes, end, isDollarInNames);
    if (!joinsBefore && !joinsAfter) hits.push(lines.hitAt(at));
  }
  return hits;
}

function isWordAt(bytes: Buffer, at: number): boolean {
  return classAt(bytes, at) !== NONE;
}

/** Whether the character that ends before `at` belongs to a word. */
function endsWord(bytes: Buffer, at: number, isDollarInNames: boolean): boolean {
  if (at === 0) return false;
  const byte = bytes[at - 1] as number;
  if (byte < 0x80) return byte === DOLLAR ? isDollarInNames : CLASSES[byte] !== NONE;
  let from = at - 1;
  while (from > 0 && at - from < LONGEST_CHARACTER && ((bytes[from] as number) & 0xc0) === 0x80) from -= 1;
  return WORD_CHARACTER.test(bytes.toString('utf8', from, at));
}

function beginsWord(bytes: Buffer, at: number, isDollarInNames: boolean): boolean {
  const byte = bytes[at];
  if (byte === undefined) return false;
  if (byte < 0x80) return byte === DOLLAR ? isDollarInNames : CLASSES[byte] !== NONE;
  const [character = ''] = bytes.toString('utf8', at, at + LONGEST_CHARACTER);
  return WORD_CHARACTER.test(character);
}

/** Lines are counted once, from the front: offsets must come in order. */
class LineWalk {
  readonly #bytes: Buffer;
  #line = 1;
  #start = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  hitAt(at: number): Hit {
    for (let end = this.#bytes.indexOf(NEWLINE, this.#start); end !== -1 && end < at; ) {
      this.#line += 1;
      this.#start = end + 1;
      end = this.#bytes.indexOf(NEWLINE, this.#start);
    }
    const column = textOf(this.#bytes.subarray(this.#start, at)).length;
    return { line: this.#line, column, lineText: this.#text(at) };
  }

  /** The line, or of a very long one the part around the hit. */
  #text(at: number): string {
    const newline = this.#bytes.indexOf(NEWLINE, at);
    const end = newline === -1 ? this.#bytes.length : newline;
    const from = at - this.#start > MAX_LINE_TEXT / 2 ? at - MAX_LINE_TEXT / 2 : this.#start;
    const isLong = end - this.#start > MAX_LINE_TEXT;
    const text = isLong
      ? this.#bytes.subarray(from, Math.min(end, from + MAX_LINE_TEXT))
      : this.#bytes.subarray(this.#start, end);
    return textOf(text).trim();
  }
}

export function textOf(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
}

/** The lines of a text as every fact counts them: only a line feed ends one. */
export function splitLines(bytes: Uint8Array): string[] {
  return textOf(bytes).split('\n');
}
