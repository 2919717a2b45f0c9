import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, open, readdir, rename, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Clock } from './clock.ts';

const TEMP_PREFIX = '.reef-tmp-';
const TEMP_NAME = /^\.reef-tmp-[0-9a-f]{24}$/;

/**
 * Replaces a file so that at every instant, also after a crash or loss of power, it is the old or the new one.
 * A link in its place is replaced, not followed.
 */
export async function writeAtomic(path: string, data: string | Uint8Array, mode = 0o600): Promise<void> {
  const dir = dirname(path);
  const temp = join(dir, `${TEMP_PREFIX}${randomBytes(12).toString('hex')}`);
  try {
    await writeNew(temp, data, mode);
    await rename(temp, path);
  } catch (error) {
    await unlink(temp).catch(() => undefined); // never made, or left to removeLeftovers: the first failure is the news
    throw error;
  }
  await syncDir(dir);
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

/** What a killed `writeAtomic` left in a folder. Only for the one who owns the folder: a write under way looks the same. */
export async function removeLeftovers(dir: string): Promise<string[]> {
  const leftovers = (await readdir(dir)).filter((name) => TEMP_NAME.test(name));
  for (const name of leftovers) await unlink(join(dir, name));
  return leftovers;
}

/** Moves a file, by default an unreadable one, out of the way and returns where it is; never over an earlier one. */
export async function setAside(path: string, clock: Clock, mark = 'bad'): Promise<string> {
  const base = `${path}.${mark}-${clock.now().toISOString().replaceAll(':', '-')}`;
  let aside = base;
  for (let n = 2; await exists(aside); n++) aside = `${base}-${n}`;
  await rename(path, aside);
  await syncDir(dirname(path));
  return aside;
}

async function exists(path: string): Promise<boolean> {
  const stat = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  return stat !== undefined;
}
