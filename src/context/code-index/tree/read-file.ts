import { closeSync, constants, fstatSync, lstatSync, openSync, readSync, type Stats } from 'node:fs';
import { freeBytes } from '../../../base/free-bytes.ts';

/** The kernel stamps files by a tick of up to 10 ms: a younger file may change again without a new stamp. */
export const TICK_MS = 20;

/** Larger files get no sketch. */
export const MAX_READ_BYTES = 8 * 1024 * 1024;

const SMALLEST_SCRATCH = 64 * 1024;
const LARGEST_SCRATCH = 1024 * 1024;

/** What tells one version of a file from the next. A forged `mtime` still moves `ctime`. */
export interface Stamp {
  size: number;
  mtimeMs: number;
  ctimeMs: number;
  ino: number;
}

export function stampOf({ size, mtimeMs, ctimeMs, ino }: Stats): Stamp {
  return { size, mtimeMs, ctimeMs, ino };
}

export function isSameStamp(one: Stamp, other: Stamp): boolean {
  return (
    one.ctimeMs === other.ctimeMs && one.mtimeMs === other.mtimeMs && one.size === other.size && one.ino === other.ino
  );
}

/** Undefined if the file is not there or may not be looked at. */
export function lookAt(file: string): Stats | undefined {
  try {
    return lstatSync(file, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** Gives the buffer for a file of this size. */
export type Room = (size: number) => Buffer;

/** One buffer for one file after the other: each overwrites the last, and a large buffer is freed at once. */
export class Scratch {
  #bytes = Buffer.alloc(SMALLEST_SCRATCH);
  #large: Buffer | undefined;

  readonly room: Room = (size) => {
    if (this.#large) freeBytes(this.#large);
    this.#large = size > LARGEST_SCRATCH ? Buffer.allocUnsafe(size) : undefined;
    if (this.#large) return this.#large;
    if (size > this.#bytes.length) this.#bytes = Buffer.alloc(Math.min(2 * size, LARGEST_SCRATCH));
    return this.#bytes.subarray(0, size);
  };
}

/** A regular file with the stamp it had before. Undefined: it is gone, a link, a device, unreadable or over the limit. */
export function readRegular(file: string, limit: number, room: Room = Buffer.allocUnsafe) {
  return withRegular(file, (fd, stats) => {
    if (stats.size > limit) return undefined;
    return { bytes: readFrom(fd, 0, room(stats.size)), stamp: stampOf(stats) };
  });
}

export function readPart(file: string, from: number, length: number): Buffer | undefined {
  return withRegular(file, (fd) => readFrom(fd, from, Buffer.alloc(length)));
}

/** Opens without blocking on a FIFO. Synchronous, because a cold scan through promises takes four times as long. */
function withRegular<T>(file: string, read: (fd: number, stats: Stats) => T): T | undefined {
  let fd: number;
  try {
    fd = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return undefined;
  }
  try {
    const stats = fstatSync(fd);
    return stats.isFile() ? read(fd, stats) : undefined;
  } catch {
    return undefined;
  } finally {
    closeSync(fd);
  }
}

function readFrom(fd: number, from: number, bytes: Buffer): Buffer {
  let read = 0;
  while (read < bytes.length) {
    const got = readSync(fd, bytes, read, bytes.length - read, from + read);
    if (got === 0) break;
    read += got;
  }
  return bytes.subarray(0, read);
}
