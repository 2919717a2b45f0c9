import { createHash } from 'node:crypto';
import type { SafeDir } from '../../base/safe-dir.ts';

export interface OnDisk {
  hash: string;
  content: Buffer;
}

export const NEW_FILE_MODE = 0o644;
const READ_CAP = 64 * 1024 * 1024;

export function hashOf(content: Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}

/** Undefined when there is no such file. `SafeDir` refuses links and everything else that is not a file. */
export async function onDisk(dir: SafeDir, path: string): Promise<OnDisk | undefined> {
  try {
    const content = await dir.read(path, READ_CAP);
    return { hash: hashOf(content), content };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * Writes atomically and keeps the mode of the file it replaces. Returns false when the file already has these bytes: then it
 * stays untouched, with its mtime and inode.
 */
export async function writeUnlessSame(dir: SafeDir, path: string, content: Uint8Array): Promise<boolean> {
  const entry = await dir.stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  const isFile = entry?.kind === 'file';
  if (isFile && entry.size === content.length) {
    const before = await dir.read(path, content.length);
    if (before.equals(content)) return false;
  }
  await dir.write(path, content, isFile ? undefined : NEW_FILE_MODE);
  return true;
}
