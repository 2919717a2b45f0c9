import { createHash, randomBytes } from 'node:crypto';
import { closeSync, constants, fsyncSync, lstatSync, openSync, renameSync } from 'node:fs';
import { open, readdir, rename, rm, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Clock } from './clock.ts';

const TEMP_PREFIX = '.reef-tmp-';
const TEMP_NAME = /^\.reef-tmp-[0-9a-f]{24}$/;

interface WriteOptions {
  mode?: number;
  /** Names what is done, so that whoever does it again after a kill finds what the first attempt left and takes its place. */
  effect?: string;
}

/** Replaces a file, or a link in its place. After a crash or power failure it is the old or the new one, never a mix. */
export async function writeAtomic(path: string, data: string | Uint8Array, options: WriteOptions = {}): Promise<void> {
  const dir = dirname(path);
  const { mode = 0o600, effect } = options;
  const temp = join(dir, `${TEMP_PREFIX}${effect === undefined ? randomBytes(12).toString('hex') : markOf(effect)}`);
  try {
    if (effect !== undefined) await rm(temp, { force: true });
    await writeNew(temp, data, mode);
    await rename(temp, path);
  } catch (error) {
    await unlink(temp).catch(() => undefined); // may not exist, or is left to removeLeftovers: the first failure is the one to report
    throw error;
  }
  await syncDir(dir);
}

function markOf(effect: string): string {
  return createHash('sha256').update(effect).digest('hex').slice(0, 24);
}

/** Whether a path names what a write in progress, or a killed one, keeps beside its file: never anybody's work. */
export function isTemporary(path: string): boolean {
  return TEMP_NAME.test(path.slice(path.lastIndexOf('/') + 1));
}

async function writeNew(path: string, data: string | Uint8Array, mode: number): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(data);
    if (mode !== 0o600) await file.chmod(mode);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function syncDir(dir: string): Promise<void> {
  const folder = await open(dir, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** Removes what a killed `writeAtomic` left in a folder. Only its owner may call this: a write in progress looks the same. */
export async function removeLeftovers(dir: string): Promise<string[]> {
  const leftovers = (await readdir(dir)).filter(isTemporary);
  for (const name of leftovers) await unlink(join(dir, name));
  return leftovers;
}

/** Moves a file, by default an unreadable one, out of the way and returns where it went; never over an earlier one. */
export function setAside(path: string, clock: Clock, mark = 'bad'): string {
  const base = `${path}.${mark}-${clock.now().toISOString().replaceAll(':', '-')}`;
  let aside = base;
  for (let n = 2; lstatSync(aside, { throwIfNoEntry: false }); n++) aside = `${base}-${n}`;
  renameSync(path, aside);
  const folder = openSync(dirname(path), constants.O_RDONLY | constants.O_DIRECTORY);
  fsyncSync(folder);
  closeSync(folder);
  return aside;
}
