import { closeSync, constants, fstatSync, lstatSync, openSync, readSync, type Stats } from 'node:fs';

/** The kernel stamps files by a tick of up to 10 ms: a younger file may change again without a new stamp. */
export const TICK_MS = 20;

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

/** Undefined for what is not there or may not be looked at. */
export function lookAt(file: string): Stats | undefined {
  try {
    return lstatSync(file, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

export interface FileRead {
  bytes: Buffer;
  /** Taken before the bytes were read. */
  stamp: Stamp;
}

/**
 * A regular file's bytes, or undefined: gone, a link, a device, unreadable, over the limit. A FIFO in its place must not hold us
 * up. Synchronous, because a cold scan through promises takes four times as long.
 */
export function readRegular(file: string, limit: number): FileRead | undefined {
  let fd: number;
  try {
    fd = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return undefined;
  }
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile() || stats.size > limit) return undefined;
    return { bytes: readAll(fd, stats.size), stamp: stampOf(stats) };
  } catch {
    return undefined;
  } finally {
    closeSync(fd);
  }
}

function readAll(fd: number, size: number): Buffer {
  const bytes = Buffer.allocUnsafe(size);
  let read = 0;
  while (read < size) {
    const got = readSync(fd, bytes, read, size - read, null);
    if (got === 0) break;
    read += got;
  }
  return bytes.subarray(0, read);
}
