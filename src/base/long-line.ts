const CARRIAGE_RETURN = 0x0d;
const KIB = 1024;

export interface LineLimits {
  /** Up to here a line is kept as it is. */
  whole: number;
  /** Up to here it becomes a skeleton, above its two ends are kept. */
  line: number;
  /** Longest string of a skeleton. */
  string: number;
  /** Length of each end. */
  keep: number;
}

export interface LineText {
  text: string;
  /** Set when long strings were cut out of JSON that is otherwise whole. */
  skeleton?: true;
  /** Set when only the two ends are left; `text` shows both around a mark. */
  truncated?: true;
  /** Beside the ends of a line that is too long: its skeleton, to refuse what it asks. */
  outline?: string;
}

/** One line that arrives in pieces. Its memory is bounded by the limits, whatever its length. */
export class LongLine {
  readonly #limits: LineLimits;
  length = 0;
  #whole: ByteStore | undefined;
  #scan: SkeletonScan | undefined;
  #ends: { head: Buffer; tail: ByteTail } | undefined;

  constructor(limits: LineLimits) {
    this.#limits = limits;
  }

  push(piece: Buffer): void {
    this.length += piece.length;
    if (!this.#ends) {
      this.#whole ??= new ByteStore(Math.max(1024, piece.length));
      this.#whole.push(piece);
      if (this.length > this.#limits.whole) this.#becomeLong(this.#whole.view());
      return;
    }
    this.#ends.tail.push(piece);
    if (this.#scan?.push(piece) === false) this.#scan = undefined;
  }

  take(): LineText {
    if (!this.#ends) return { text: decodeLine(this.#whole?.view() ?? Buffer.alloc(0)) };
    const outline = this.#scan && withoutCarriageReturn(this.#scan.text());
    if (outline !== undefined && this.length <= this.#limits.line) return { text: outline, skeleton: true };
    const head = decodeStart(this.#ends.head);
    const tail = withoutCarriageReturn(decodeEnd(this.#ends.tail.view()));
    const cut = this.length - this.#ends.head.length - this.#ends.tail.view().length;
    const text = `${head}…[cut ${cut} bytes]…${tail}`;
    return { text, truncated: true, ...(outline?.startsWith('{') && { outline }) };
  }

  #becomeLong(bytes: Buffer): void {
    const { keep, string } = this.#limits;
    this.#ends = { head: Buffer.from(bytes.subarray(0, keep)), tail: new ByteTail(keep) };
    this.#ends.tail.push(bytes);
    this.#whole = undefined;
    const scan = new SkeletonScan(string, this.#limits.whole);
    if (scan.push(bytes)) this.#scan = scan;
  }
}

/** Invalid UTF-8 becomes U+FFFD, a byte order mark or NUL stays what it is. */
export function decodeLine(bytes: Buffer, start = 0, end = bytes.length): string {
  const stop = end > start && bytes[end - 1] === CARRIAGE_RETURN ? end - 1 : end;
  return bytes.toString('utf8', start, stop);
}

function withoutCarriageReturn(text: string): string {
  return text.endsWith('\r') ? text.slice(0, -1) : text;
}

/** Drops a character that the cut after `bytes` may have split. */
function decodeStart(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  return text.endsWith('\ufffd') ? text.slice(0, -1) : text;
}

function decodeEnd(bytes: Buffer): string {
  let start = 0;
  while (start < 3 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start++;
  return bytes.toString('utf8', start);
}

const [QUOTE, BACKSLASH, LETTER_U, COMMA] = [0x22, 0x5c, 0x75, 0x2c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];
/** Nobody takes JSON that is deeper. */
const DEEPEST = 64;
const [NO_ESCAPE, ESCAPE_BEGUN, HEX_DIGITS] = [0, -1, 4];
/** A cut waits at most this long for the end of a character, in case the bytes are no text. */
const PATIENCE = 16;

/**
 * Reads JSON piece by piece and cuts each string over `limit` bytes, with a mark: type, ids and usage of a huge message survive.
 * Once `most` bytes are kept, lists lose the rest of their entries. Valid JSON stays valid; a cut splits no character, escape or
 * pair of surrogates.
 */
export class SkeletonScan {
  readonly #limit: number;
  readonly #most: number;
  readonly #out = new ByteStore(64 * 1024);
  #inString = false;
  #length = 0;
  #cut = 0;
  /** `NO_ESCAPE`, `ESCAPE_BEGUN`, or how many hex digits are still to come. */
  #escape = NO_ESCAPE;
  #hex = 0;
  #afterHighSurrogate = false;
  /** The containers around the byte, by what ends them. */
  readonly #ends: number[] = [];
  /** How many containers are around the list whose entries are left out; 0 while none is. */
  #skipped = 0;

  constructor(limit: number, most: number) {
    this.#limit = limit;
    this.#most = most;
  }

  /** False: even without long strings and lists it is too much, or too deep. */
  push(chunk: Buffer): boolean {
    let from = 0;
    const next = { quote: -1, backslash: -1 };
    for (let at = 0; at < chunk.length; at++) {
      at = this.#cutThrough(chunk, at, next);
      if (at === chunk.length) break;
      const [wasKept, cut] = [this.#isKept(), this.#cut];
      this.#step(chunk[at] ?? 0, this.#out.length + (wasKept ? at - from : 0));
      const isKept = this.#isKept();
      if (wasKept === isKept) continue;
      if (wasKept) this.#out.push(chunk.subarray(from, at));
      else if (cut > 0) this.#out.push(Buffer.from(`…[cut ${cut} bytes]`));
      from = at;
    }
    if (this.#isKept()) this.#out.push(chunk.subarray(from));
    return this.#ends.length <= DEEPEST && this.#out.length <= 2 * this.#most + KIB;
  }

  /** In the rest of a string that is cut only its end and its escapes matter: the first byte that does. */
  #cutThrough(chunk: Buffer, at: number, next: { quote: number; backslash: number }): number {
    if (!this.#inString || this.#cut === 0 || this.#escape !== NO_ESCAPE) return at;
    if (next.quote < at) next.quote = indexOrEnd(chunk, QUOTE, at);
    if (next.backslash < at) next.backslash = indexOrEnd(chunk, BACKSLASH, at);
    const end = Math.min(next.quote, next.backslash);
    this.#cut += end - at;
    this.#length += end - at;
    if (end > at) this.#afterHighSurrogate = false;
    return end;
  }

  #isKept(): boolean {
    return this.#cut === 0 && this.#skipped === 0;
  }

  text(): string {
    return this.#out.view().toString('utf8');
  }

  #step(byte: number, kept: number): void {
    if (byte === QUOTE && this.#escape === NO_ESCAPE) {
      this.#inString = !this.#inString;
      this.#afterHighSurrogate = false;
      this.#length = 0;
      this.#cut = 0;
    } else if (this.#inString) {
      if (this.#skipped === 0 && (this.#cut > 0 || this.#mayCutBefore(byte))) this.#cut++;
      this.#take(byte);
    } else {
      this.#nest(byte, kept);
    }
  }

  #nest(byte: number, kept: number): void {
    if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      // Deeper, only the refusal counts.
      if (this.#ends.length <= DEEPEST) this.#ends.push(byte === OPEN_LIST ? CLOSE_LIST : CLOSE_OBJECT);
    } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) {
      if (this.#ends.length === this.#skipped) this.#skipped = 0;
      this.#ends.pop();
    } else if (byte === COMMA && this.#skipped === 0 && kept > this.#most && this.#ends.at(-1) === CLOSE_LIST) {
      this.#skipped = this.#ends.length;
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

function indexOrEnd(chunk: Buffer, byte: number, from: number): number {
  const found = chunk.indexOf(byte, from);
  return found === -1 ? chunk.length : found;
}

/** A growing buffer of bytes, not a list of pieces: a line that arrives byte by byte must not cost 100 times its size. */
export class ByteStore {
  #bytes: Buffer;
  #length = 0;

  constructor(capacity: number) {
    this.#bytes = Buffer.allocUnsafe(capacity);
  }

  push(bytes: Uint8Array): void {
    const length = this.#length + bytes.length;
    if (length > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(length, this.#bytes.length * 2));
      larger.set(this.view());
      this.#bytes = larger;
    }
    this.#bytes.set(bytes, this.#length);
    this.#length = length;
  }

  get length(): number {
    return this.#length;
  }

  /** Valid until the next push. */
  view(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }
}

/** The last `size` bytes of all that was pushed. */
export class ByteTail {
  readonly #bytes: Buffer;
  #length = 0;

  constructor(size: number) {
    this.#bytes = Buffer.allocUnsafe(size);
  }

  push(bytes: Uint8Array): void {
    const size = this.#bytes.length;
    const added = bytes.subarray(Math.max(0, bytes.length - size));
    const kept = Math.min(this.#length, size - added.length);
    this.#bytes.copyWithin(0, this.#length - kept, this.#length);
    this.#bytes.set(added, kept);
    this.#length = kept + added.length;
  }

  view(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }
}
