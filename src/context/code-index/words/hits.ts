import { decodeSource, type Position } from '../../lang/contract.ts';
import { CLASSES, classAt, NONE } from './characters.ts';

const DOLLAR_LANGUAGES: ReadonlySet<string> = new Set(['typescript', 'tsx', 'javascript', 'java', 'kotlin', 'scala']);

/** Whether `$` belongs to names, as in JavaScript, or stands before them, as in PHP and shells. */
export function hasDollarNames(language: string | undefined): boolean {
  return DOLLAR_LANGUAGES.has(language ?? '');
}

const NEWLINE = 0x0a;
const DOLLAR = 0x24;
const LONGEST_CHARACTER = 4;
const WORD_CHARACTER = /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]/u;

interface Hit extends Position {
  /** In bytes. */
  offset: number;
}

/** The places of a name in one text, in order. Kept as plain numbers: a common name has a million places in a repository. */
export class Hits implements Iterable<Hit> {
  readonly #numbers: Uint32Array;

  /** The offset, the line and the column of each in turn. */
  constructor(numbers: readonly number[]) {
    this.#numbers = Uint32Array.from(numbers);
  }

  get count(): number {
    return this.#numbers.length / 3;
  }

  at(index: number): Hit {
    const [offset = 0, line = 0, column = 0] = this.#numbers.subarray(index * 3, index * 3 + 3);
    return { offset, line, column };
  }

  *[Symbol.iterator](): Generator<Hit> {
    for (let index = 0; index < this.count; index++) yield this.at(index);
  }
}

/** Every place where the name stands as a whole word. A parser decides later what each is. */
export function wordHits(bytes: Buffer, { name, isDollarInNames }: { name: string; isDollarInNames: boolean }): Hits {
  const wanted = Buffer.from(name, 'utf8');
  if (wanted.length === 0) return new Hits([]);
  const numbers: number[] = [];
  const walk = new LineWalk(bytes);
  for (let at = bytes.indexOf(wanted); at !== -1; at = bytes.indexOf(wanted, at + 1)) {
    const end = at + wanted.length;
    const joinsBefore = classAt(bytes, at) !== NONE && endsWord(bytes, at, isDollarInNames);
    const joinsAfter = classAt(bytes, end - 1) !== NONE && beginsWord(bytes, end, isDollarInNames);
    if (joinsBefore || joinsAfter) continue;
    walk.to(at);
    numbers.push(at, walk.line, walk.column);
  }
  return new Hits(numbers);
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

/** Counts lines and columns from the front, so offsets must ascend. A minified file is one line of a megabyte. */
class LineWalk {
  readonly #bytes: Buffer;
  line = 1;
  column = 0;
  #at = 0;
  #lineEnd: number;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#lineEnd = this.#endAfter(0);
  }

  to(at: number): void {
    while (this.#lineEnd < at) {
      this.line += 1;
      this.column = 0;
      this.#at = this.#lineEnd + 1;
      this.#lineEnd = this.#endAfter(this.#at);
    }
    this.column += decodeSource(this.#bytes.subarray(this.#at, at)).length;
    this.#at = at;
  }

  #endAfter(start: number): number {
    const end = this.#bytes.indexOf(NEWLINE, start);
    return end === -1 ? this.#bytes.length : end;
  }
}

/** The lines of a text as facts count them: only a line feed ends one. */
export function splitLines(bytes: Uint8Array): string[] {
  return decodeSource(bytes).split('\n');
}
