import type { WasmMemory } from './wasm-code.ts';

/** tree-sitter's buffer for a piece of text, in UTF-16 units; one of them is a zero at the end. */
const PIECE_UNITS = 5 * 1024 - 1;
const UNIT = 2;
const SMALLEST = 64 * 1024;

/**
 * The text that is parsed, from which tree-sitter fetches piece after piece. Its own binding copies letter by letter, which
 * takes a twentieth of the time of a parse.
 */
export class ParsedText {
  readonly #memory: WasmMemory;
  #units = Buffer.alloc(SMALLEST);
  #length = 0;

  constructor(memory: WasmMemory) {
    this.#memory = memory;
  }

  take(text: string): void {
    this.#length = text.length;
    if (this.#units.length < text.length * UNIT) this.#units = Buffer.alloc(text.length * UNIT * 2);
    this.#units.write(text, 'utf16le');
  }

  /** Called by WASM with row and column, too: the text from this unit on, and how much of it there is. */
  readonly give = (address: number, from: number, ...[, , lengthAddress = 0]: number[]): void => {
    const left = Math.max(this.#length - from, 0);
    const { buffer } = this.#memory;
    new DataView(buffer).setInt32(lengthAddress, left, true);
    const until = (from + Math.min(left, PIECE_UNITS)) * UNIT;
    if (left > 0) new Uint8Array(buffer, address).set(this.#units.subarray(from * UNIT, until));
  };
}
