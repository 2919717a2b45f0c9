import { ByteStore, ByteTail } from './byte-store.ts';
import { SkeletonScan } from './skeleton.ts';

const CARRIAGE_RETURN = 0x0d;

export interface LineLimits {
  /** Up to here a line is kept as it is. */
  whole: number;
  /** Up to here it becomes a skeleton, above only its two ends are kept. */
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
  truncated?: { head: string; tail: string };
}

/** One line that arrives in pieces. Its memory is bounded by the limits, whatever its length. */
export class LongLine {
  readonly #limits: LineLimits;
  #length = 0;
  #whole: ByteStore | undefined;
  #scan: SkeletonScan | undefined;
  #ends: { head: Buffer; tail: ByteTail } | undefined;

  constructor(limits: LineLimits) {
    this.#limits = limits;
  }

  get length(): number {
    return this.#length;
  }

  push(piece: Buffer): void {
    this.#length += piece.length;
    if (!this.#ends) {
      this.#whole ??= new ByteStore(Math.max(1024, piece.length));
      this.#whole.push(piece);
      if (this.#length > this.#limits.whole) this.#becomeLong(this.#whole.view());
      return;
    }
    this.#ends.tail.push(piece);
    if (this.#length > this.#limits.line) this.#scan = undefined;
    this.#scan?.push(piece);
  }

  take(): LineText {
    if (!this.#ends) return { text: decodeLine(this.#whole?.view() ?? Buffer.alloc(0)) };
    if (this.#scan) return { text: withoutCarriageReturn(this.#scan.text()), skeleton: true };
    const head = decodeStart(this.#ends.head);
    const tail = withoutCarriageReturn(decodeEnd(this.#ends.tail.view()));
    const cut = this.#length - this.#ends.head.length - this.#ends.tail.view().length;
    return { text: `${head}…[cut ${cut} bytes]…${tail}`, truncated: { head, tail } };
  }

  #becomeLong(bytes: Buffer): void {
    const { keep, line, string } = this.#limits;
    this.#ends = { head: Buffer.from(bytes.subarray(0, keep)), tail: new ByteTail(keep) };
    this.#ends.tail.push(bytes);
    this.#whole = undefined;
    if (this.#length > line) return;
    this.#scan = new SkeletonScan(string);
    this.#scan.push(bytes);
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
