import { mkdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Change } from './system-calls.ts';

/**
 * The files as they were at some moment of a recorded run: after a kill with everything that was written, after a power cut
 * without some of what was not synced. The sync of a file keeps its bytes, its length and its name; a rename or removal is
 * kept by the sync of its folder.
 */

interface File {
  bytes: Buffer;
  size: number;
}

/** Positions, in `changes`, of what a power cut after the first `count` of them may undo. */
export function unsynced(changes: readonly Change[], count: number): number[] {
  const lost: number[] = [];
  const synced = new Set<string>();
  // From the end: what a later sync covers is safe.
  for (let n = count - 1; n >= 0; n--) {
    const change = changes[n];
    if (!change || change.does === 'say') continue;
    if (change.does === 'sync') synced.add(change.path);
    else if (!isKept(change, synced)) lost.push(n);
  }
  return lost.reverse();
}

function isKept(change: Exclude<Change, { does: 'say' | 'sync' }>, synced: ReadonlySet<string>): boolean {
  const isInFolder = synced.has(dirname(change.path));
  if (change.does === 'rename' || change.does === 'remove') return isInFolder;
  if (change.does === 'create') return isInFolder || synced.has(change.path);
  return synced.has(change.path);
}

/** Writes the image into a folder: the first `count` changes less those that are lost. */
export function writeImage(
  changes: readonly Change[],
  { count, lost = new Set(), into }: { count: number; lost?: ReadonlySet<number>; into: string },
): void {
  const files = new Map<string, File>();
  for (let n = 0; n < count; n++) {
    const change = changes[n];
    if (change && !lost.has(n)) apply(files, change);
  }
  mkdirSync(into, { recursive: true });
  for (const [path, { bytes, size }] of files) writeFileSync(join(into, basename(path)), bytes.subarray(0, size));
}

function apply(files: Map<string, File>, change: Change): void {
  const file = 'path' in change ? files.get(change.path) : undefined;
  switch (change.does) {
    case 'say':
    case 'sync':
      break;
    case 'create':
      if (!file) files.set(change.path, { bytes: Buffer.alloc(0), size: 0 });
      else if (change.cuts) file.size = 0;
      break;
    case 'write':
      // The name of the file is lost, and its bytes with it.
      if (file) put(file, change.at, change.bytes);
      break;
    case 'cut':
      if (file) resize(file, change.size);
      break;
    case 'rename':
      if (!file) break;
      files.delete(change.path);
      files.set(change.to, file);
      break;
    case 'remove':
      files.delete(change.path);
      break;
  }
}

function put(file: File, at: number, bytes: Buffer): void {
  if (at + bytes.length > file.size) resize(file, at + bytes.length);
  bytes.copy(file.bytes, at);
}

/** What was never written reads as zeros. */
function resize(file: File, size: number): void {
  if (size > file.bytes.length)
    file.bytes = Buffer.concat([file.bytes, Buffer.alloc(Math.max(size, 2 * file.bytes.length) - file.bytes.length)]);
  else if (size < file.size) file.bytes.fill(0, size);
  file.size = size;
}
