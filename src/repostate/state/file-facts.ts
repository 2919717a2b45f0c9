import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, open, readlink } from 'node:fs/promises';
import { join } from 'node:path';

/** Shows that a file may have changed, without reading it. */
export interface Stamp {
  size: number;
  mtimeNs: bigint;
  inode: bigint;
}

export interface FileFacts extends Stamp {
  kind: 'file' | 'link';
  mode: string;
  modTime: string;
}

/** Undefined when there is no file or link: it is gone, a folder or a socket. */
export async function statFile(root: string, path: string): Promise<FileFacts | undefined> {
  const stat = await lstat(join(root, path), { bigint: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
    throw error;
  });
  if (!stat?.isFile() && !stat?.isSymbolicLink()) return undefined;
  const isExecutable = (stat.mode & 0o100n) !== 0n;
  return {
    kind: stat.isFile() ? 'file' : 'link',
    mode: stat.isSymbolicLink() ? '120000' : isExecutable ? '100755' : '100644',
    size: Number(stat.size),
    mtimeNs: stat.mtimeNs,
    inode: stat.ino,
    modTime: stat.mtime.toISOString(),
  };
}

/** The hash of a link is that of its target's name, as in git. Undefined when the file has disappeared. */
export async function sha256Of(root: string, path: string, kind: FileFacts['kind']): Promise<string | undefined> {
  const hash = createHash('sha256');
  try {
    if (kind === 'link') return hash.update(await readlink(join(root, path), 'buffer')).digest('hex');
    const file = await open(join(root, path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      for await (const chunk of file.createReadStream({ autoClose: false })) hash.update(chunk as Buffer);
    } finally {
      await file.close();
    }
    return hash.digest('hex');
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ELOOP', 'EINVAL'].includes(`${(error as NodeJS.ErrnoException).code}`)) return undefined;
    throw error;
  }
}

/** The blob id of a link. For files only git knows it, because of filters and line endings. */
export async function linkBlob(root: string, path: string, oidLength: number): Promise<string | undefined> {
  const target = await readlink(join(root, path), 'buffer').catch(() => undefined);
  if (target === undefined) return undefined;
  const hash = createHash(oidLength === 64 ? 'sha256' : 'sha1');
  return hash.update(`blob ${target.length}\0`).update(target).digest('hex');
}
