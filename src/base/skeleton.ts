import { ByteStore } from './byte-store.ts';

const [QUOTE, BACKSLASH, LETTER_U] = [0x22, 0x5c, 0x75];
const [NO_ESCAPE, ESCAPE_BEGUN, HEX_DIGITS] = [0, -1, 4];
/** A cut waits for the end of a character; surrogates without end, and longer bytes that are no text, end the wait. */
const PATIENCE = 16;

/**
 * Reads JSON text piece by piece and keeps it all, except that a string over `limit` bytes (as written) is cut there
 * and marked: type, ids and usage of a huge message survive. Valid JSON stays valid; a cut never splits a
 * character, an escape or a pair of surrogates.
 */
export class SkeletonScan {
  readonly #limit: number;
  readonly #out = new ByteStore(64 * 1024);
  #inString = false;
  #length = 0;
  #cut = 0;
  /** `NO_ESCAPE`, `ESCAPE_BEGUN`, or how many hex digits are still to come. */
  #escape = NO_ESCAPE;
  #hex = 0;
  #afterHighSurrogate = false;

  constructor(limit: number) {
    this.#limit = limit;
  }

  push(chunk: Buffer): void {
    let from = 0;
    for (let at = 0; at < chunk.length; at++) {
      const before = this.#cut;
      this.#step(chunk[at] ?? 0);
      if (before === 0 && this.#cut > 0) this.#out.push(chunk.subarray(from, at));
      if (before > 0 && this.#cut === 0) {
        this.#out.push(Buffer.from(`…[cut ${before} bytes]`));
        from = at;
      }
    }
    if (this.#cut === 0) this.#out.push(chunk.subarray(from));
  }

  text(): string {
    return this.#out.view().toString('utf8');
  }

  #step(byte: number): void {
    if (byte === QUOTE && this.#escape === NO_ESCAPE) {
      this.#inString = !this.#inString;
      this.#afterHighSurrogate = false;
      this.#length = 0;
      this.#cut = 0;
    } else if (this.#inString) {
      if (this.#cut > 0 || this.#mayCutBefore(byte)) this.#cut++;
      this.#take(byte);
    }
  }

  #mayCutBefore(byte: number): boolean {
    if (this.#length < this.#limit || this.#escape !== NO_ESCAPE) return false;
    if ((byte & 0xc0) === 0x80) return this.#length >= this.#limit + 2 * PATIENCE;
    return !this.#afterHighSurrogate || this.#length >= this.#limit + PATIENCE;
  }

  #take(byte: number): void {
    this.#length++;
    if (this.#escape === NO_ESCAPE) {
      this.#afterHighSurrogate = false;
      if (byte === BACKSLASH) this.#escape = ESCAPE_BEGUN;
    } else if (this.#escape === ESCAPE_BEGUN) {
      this.#escape = byte === LETTER_U ? HEX_DIGITS : NO_ESCAPE;
      this.#hex = 0;
    } else {
      this.#hex = this.#hex * 16 + (byte & 0xf) + (byte > 0x39 ? 9 : 0);
      this.#escape--;
      this.#afterHighSurrogate = this.#escape === NO_ESCAPE && this.#hex >= 0xd800 && this.#hex <= 0xdbff;
    }
  }
}
