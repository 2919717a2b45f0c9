import { createHash } from 'node:crypto';
import type { Oid } from './ref-name.ts';
import type { IndexEntry } from './tree.ts';

/** An entry of git's index, and the file's data when git last found it equal to its blob. */
export interface RecordedEntry extends Omit<IndexEntry, 'mode'> {
  mode: number;
  seen: { mtimeMs: number; ctimeMs: number; ino: number; size: number };
}

/** `seen` holds inodes and sizes by their lowest 32 bits. */
export const SEEN_RANGE = 2 ** 32;

const SIGNATURE = 'DIRC';
const TREES = 'TREE';
const LONGEST_COUNTS = 30;
const HEADER_BYTES = 12;
const STAT_BYTES = 40;
const IS_EXTENDED = 0x4000;
const IS_SPARSE = 0x4000;
const LONG_PATH = 0xfff;
const ALIGNED_TO = 8;

/** What an index says of itself. */
interface ReadIndex {
  /** The tree that a commit of it would have, if git has worked it out: as after a checkout or a commit. */
  tree: Oid | undefined;
  /** Where its entries end. */
  end: number;
}

/** Shows the entries of an index (gitformat-index), without sparse ones. Undefined for what git itself has to read, such as a split index. */
export function readIndexFile(
  bytes: Buffer,
  oidBytes: number,
  show: (entry: RecordedEntry) => void,
): ReadIndex | undefined {
  try {
    const version = bytes.readUInt32BE(4);
    if (bytes.toString('latin1', 0, 4) !== SIGNATURE || version < 2 || version > 4) return undefined;
    const reader = new EntryReader(bytes, { oidBytes, isPacked: version === 4 });
    for (let left = bytes.readUInt32BE(8); left > 0; left--) {
      const entry = reader.next();
      if (entry) show(entry);
    }
    const rest = readExtensions(bytes, { from: reader.at, end: bytes.length - oidBytes, oidBytes });
    return rest && { ...rest, end: reader.at };
  } catch (error) {
    if (error instanceof RangeError) return undefined; // it ends too soon
    throw error;
  }
}

/**
 * The index with its entries only, so that it names nothing but what `show` was given. Undefined for what git itself has to read.
 * Git makes the rest anew.
 */
export function entriesOnly(bytes: Buffer, oidBytes: number, show: (entry: RecordedEntry) => void): Buffer | undefined {
  const read = readIndexFile(bytes, oidBytes, show);
  if (read === undefined) return undefined;
  const kept = bytes.subarray(0, read.end);
  const sum = createHash(oidBytes === SHA1_BYTES ? 'sha1' : 'sha256')
    .update(kept)
    .digest();
  return Buffer.concat([kept, sum]);
}

const SHA1_BYTES = 20;

/** A reader must understand every extension whose name begins with a small letter. */
function readExtensions(
  bytes: Buffer,
  { from, end, oidBytes }: { from: number; end: number; oidBytes: number },
): Pick<ReadIndex, 'tree'> | undefined {
  let tree: Oid | undefined;
  let at = from;
  while (at < end) {
    const name = bytes.toString('latin1', at, at + 4);
    if (!/^[A-Z]/.test(name)) return undefined;
    if (name === TREES) tree = rootTree(bytes, at + 8, oidBytes);
    at += 8 + bytes.readUInt32BE(at + 4);
  }
  return at === end ? { tree } : undefined;
}

/** The first entry is the root: no name, how many files and subtrees it has, its id. Fewer than no files: the id is not known. */
function rootTree(bytes: Buffer, from: number, oidBytes: number): Oid | undefined {
  const head = bytes.toString('latin1', from, from + LONGEST_COUNTS);
  const [counts] = /^\0\d+ \d+\n/.exec(head) ?? [];
  if (counts === undefined) return undefined;
  return bytes.toString('hex', from + counts.length, from + counts.length + oidBytes);
}

class EntryReader {
  readonly #bytes: Buffer;
  readonly #oidBytes: number;
  /** Version 4: paths share prefixes, and entries are not aligned. */
  readonly #isPacked: boolean;
  #path = Buffer.alloc(0);
  at = HEADER_BYTES;

  constructor(bytes: Buffer, { oidBytes, isPacked }: { oidBytes: number; isPacked: boolean }) {
    this.#bytes = bytes;
    this.#oidBytes = oidBytes;
    this.#isPacked = isPacked;
  }

  next(): RecordedEntry | undefined {
    const bytes = this.#bytes;
    const begin = this.at;
    const flagsAt = begin + STAT_BYTES + this.#oidBytes;
    const flags = bytes.readUInt16BE(flagsAt);
    const isExtended = (flags & IS_EXTENDED) !== 0;
    const isSparse = isExtended && (bytes.readUInt16BE(flagsAt + 2) & IS_SPARSE) !== 0;
    this.at = flagsAt + (isExtended ? 4 : 2);
    const path = this.#isPacked ? this.#packedPath() : this.#alignedPath(begin, flags & LONG_PATH);
    if (isSparse) return undefined;
    return {
      mode: bytes.readUInt32BE(begin + 24),
      oid: bytes.toString('hex', begin + STAT_BYTES, flagsAt),
      stage: (flags >> 12) & 3,
      path,
      seen: {
        ctimeMs: this.#timeAt(begin),
        mtimeMs: this.#timeAt(begin + 8),
        ino: bytes.readUInt32BE(begin + 20),
        size: bytes.readUInt32BE(begin + 36),
      },
    };
  }

  /** By the same sum as Node's, so that equal times are equal numbers. */
  #timeAt(at: number): number {
    return this.#bytes.readUInt32BE(at) * 1_000 + this.#bytes.readUInt32BE(at + 4) / 1_000_000;
  }

  #alignedPath(begin: number, length: number): string {
    const end = length < LONG_PATH ? this.at + length : this.#endOfText();
    const path = this.#bytes.toString('utf8', this.at, end);
    this.at = begin + Math.ceil((end + 1 - begin) / ALIGNED_TO) * ALIGNED_TO;
    return path;
  }

  #packedPath(): string {
    const dropped = this.#number();
    const end = this.#endOfText();
    const kept = this.#path.subarray(0, this.#path.length - dropped);
    this.#path = Buffer.concat([kept, this.#bytes.subarray(this.at, end)]);
    this.at = end + 1;
    return this.#path.toString('utf8');
  }

  /** Seven bits a byte, the highest first; each further byte adds one to what came before. */
  #number(): number {
    let byte = this.#bytes.readUInt8(this.at++);
    let value = byte & 0x7f;
    while (byte >= 0x80) {
      byte = this.#bytes.readUInt8(this.at++);
      value = (value + 1) * 128 + (byte & 0x7f);
    }
    return value;
  }

  #endOfText(): number {
    const end = this.#bytes.indexOf(0, this.at);
    if (end === -1) throw new RangeError('no end of a path');
    return end;
  }
}
