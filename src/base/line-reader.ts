import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { decodeLine, type LineLimits, type LineText, LongLine } from './long-line.ts';

export interface Line extends LineText {
  /** Where in the file it begins; the whole line can be read from there again. */
  offset: number;
  /** Its length in the file, line end included. */
  bytes: number;
}

const KIB = 1024;
/** Nothing else happens while a line is understood, so what of it is understood at once is bounded. */
export const LINE_LIMITS: LineLimits = { whole: 256 * KIB, line: 16 * 1024 * KIB, string: 32 * KIB, keep: 32 * KIB };

const CHUNK = 256 * KIB;
const NEWLINE = 0x0a;
/** Does not follow a link in the place of the file, and does not wait for a FIFO. */
const READ_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * Reads the lines of a file that a program may still be writing, in bounded memory. Read a batch, store its meaning
 * together with `offset`, read on: a reader made with that offset continues from there. One call at a time.
 */
export class LineReader {
  readonly #path: string;
  readonly #limits: LineLimits;
  #file: FileHandle | undefined;
  #buffer: Buffer | undefined;
  /** What was read last, and how far it was looked at. */
  #chunk: Buffer = Buffer.alloc(0);
  #at = 0;
  #readAt: number;
  #lineAt: number;
  /** The line that began in an earlier chunk. */
  #begun: LongLine | undefined;

  constructor({ path, offset, limits = LINE_LIMITS }: { path: string; offset: number; limits?: LineLimits }) {
    this.#path = path;
    this.#limits = limits;
    this.#readAt = offset;
    this.#lineAt = offset;
  }

  /** The first byte not yet delivered: what to commit together with a batch. */
  get offset(): number {
    return this.#lineAt;
  }

  /** At least one line, at most `maxLines`, none more once their text passes `maxBytes`. Empty: no complete line yet. */
  async readBatch(maxLines: number, maxBytes: number): Promise<Line[]> {
    const lines: Line[] = [];
    let size = 0;
    while (lines.length < maxLines && size < maxBytes) {
      if (this.#at === this.#chunk.length && !(await this.#fill())) break;
      const line = this.#next();
      if (!line) continue;
      lines.push(line);
      size += line.text.length;
    }
    return lines;
  }

  /** The last line without a newline. Call it when the writer is gone and `readBatch` returned nothing. */
  finish(): Line | undefined {
    const begun = this.#begun;
    this.#begun = undefined;
    return begun && this.#deliver(begun.take(), begun.length);
  }

  async close(): Promise<void> {
    await this.#file?.close();
    this.#file = undefined;
  }

  async #fill(): Promise<boolean> {
    this.#file ??= await open(this.#path, READ_FLAGS);
    this.#buffer ??= Buffer.allocUnsafe(CHUNK);
    const { bytesRead } = await this.#file.read(this.#buffer, 0, CHUNK, this.#readAt);
    this.#readAt += bytesRead;
    this.#chunk = this.#buffer.subarray(0, bytesRead);
    this.#at = 0;
    return bytesRead > 0;
  }

  #next(): Line | undefined {
    const start = this.#at;
    const end = this.#chunk.indexOf(NEWLINE, start);
    this.#at = end === -1 ? this.#chunk.length : end + 1;
    if (end === start && !this.#begun) {
      this.#lineAt++;
      return undefined;
    }
    if (end !== -1 && !this.#begun && end - start <= this.#limits.whole) {
      return this.#deliver({ text: decodeLine(this.#chunk, start, end) }, end + 1 - start);
    }
    this.#begun ??= new LongLine(this.#limits);
    this.#begun.push(this.#chunk.subarray(start, end === -1 ? undefined : end));
    if (end === -1) return undefined;
    const begun = this.#begun;
    this.#begun = undefined;
    return this.#deliver(begun.take(), begun.length + 1);
  }

  #deliver(text: LineText, bytes: number): Line | undefined {
    const offset = this.#lineAt;
    this.#lineAt += bytes;
    return text.text === '' ? undefined : { offset, bytes, ...text };
  }
}

/** A request as it was written, or its outline where it is too long for that. */
export async function readRequestAt(path: string, line: Pick<Line, 'offset' | 'bytes'>): Promise<string> {
  if (line.bytes <= LINE_LIMITS.line) return await readLineAt(path, line);
  const reader = new LineReader({ path, offset: line.offset });
  try {
    const [found] = await reader.readBatch(1, 1);
    return found?.outline ?? found?.text ?? '';
  } finally {
    await reader.close();
  }
}

/** One line as it was written, for a reply that must repeat what a skeleton left out. */
export async function readLineAt(path: string, line: Pick<Line, 'offset' | 'bytes'>): Promise<string> {
  const file = await open(path, READ_FLAGS);
  try {
    const bytes = Buffer.alloc(line.bytes);
    const { bytesRead } = await file.read(bytes, 0, line.bytes, line.offset);
    const end = bytes[bytesRead - 1] === NEWLINE ? bytesRead - 1 : bytesRead;
    return decodeLine(bytes, 0, end);
  } finally {
    await file.close();
  }
}
