const ESCAPE = 0x1b;
const RETURN = 0x0d;

const [START, BACK, END, FORWARD] = ['\u0001', '\u0002', '\u0005', '\u0006'];
const [CUT_RIGHT, CUT_LEFT, CUT_WORD_LEFT, CUT_WORD_RIGHT] = ['\u000b', '\u0015', '\u0017', '\u001bd'];
const [WORD_LEFT, WORD_RIGHT, DELETE] = ['\u001bb', '\u001bf', '\u001b[3~'];
const WHOLE_LINE = END + CUT_LEFT;

/** Keys of normal mode, and the emacs keys that readline understands instead. */
const MOVES: Readonly<Record<string, string>> = {
  h: BACK,
  l: FORWARD,
  '0': START,
  '^': START,
  $: END + BACK,
  w: WORD_RIGHT,
  e: WORD_RIGHT,
  b: WORD_LEFT,
  x: DELETE,
  X: '\u007f',
  D: CUT_RIGHT,
  k: '\u001b[A',
  j: '\u001b[B',
  u: '\u001f',
  p: '\u0019',
};
/** Keys that lead to insert mode. */
const ENTRIES: Readonly<Record<string, string>> = {
  i: '',
  a: FORWARD,
  I: START,
  A: END,
  C: CUT_RIGHT,
  s: DELETE,
  S: WHOLE_LINE,
};
/** After `d` or `c`. */
const OBJECTS: Readonly<Record<string, string>> = {
  d: WHOLE_LINE,
  c: WHOLE_LINE,
  w: CUT_WORD_RIGHT,
  e: CUT_WORD_RIGHT,
  b: CUT_WORD_LEFT,
  $: CUT_RIGHT,
  '0': CUT_LEFT,
};

/** `keybindings: vi`: translates insert and normal mode to keys that readline understands. */
export class ViKeys {
  #isNormal = false;
  #operator: 'd' | 'c' | undefined;

  translate(bytes: Buffer): Buffer {
    const out: Buffer[] = [];
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at] ?? 0;
      const isSequence = byte === ESCAPE && [0x5b, 0x4f].includes(bytes[at + 1] ?? 0);
      // Arrows and the like come in one piece.
      if (isSequence) return Buffer.concat([...out, bytes.subarray(at)]);
      out.push(this.#key(byte));
    }
    return Buffer.concat(out);
  }

  #key(byte: number): Buffer {
    if (byte === ESCAPE) {
      // In normal mode the cursor stands on a letter, not after it.
      const step = this.#isNormal ? '' : BACK;
      this.#isNormal = true;
      this.#operator = undefined;
      return Buffer.from(step);
    }
    if (byte === RETURN) this.#isNormal = false;
    const isPlain = byte >= 0x20 && byte < 0x7f;
    if (!this.#isNormal || !isPlain) return Buffer.of(byte);
    return Buffer.from(this.#command(String.fromCharCode(byte)));
  }

  #command(key: string): string {
    const operator = this.#operator;
    this.#operator = undefined;
    if (operator !== undefined) {
      if (operator === 'c') this.#isNormal = false;
      return OBJECTS[key] ?? '';
    }
    if (key === 'd' || key === 'c') {
      this.#operator = key;
      return '';
    }
    const entry = ENTRIES[key];
    if (entry === undefined) return MOVES[key] ?? '';
    this.#isNormal = false;
    return entry;
  }
}
