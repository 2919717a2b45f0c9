import { readBlobs } from '../../../git/blobs.ts';
import type { Git } from '../../../git/git-command.ts';
import type { Oid } from '../../../git/ref-name.ts';
import { isBlob } from '../tree/blob-id.ts';
import { MAX_READ_BYTES, type Scratch } from '../tree/read-file.ts';
import type { WorktreeTree } from '../tree/worktree-tree.ts';

/** Without bytes: it is too large to be read. */
export interface ReadBlob {
  size: number;
  bytes?: Buffer;
}

/**
 * A blob from the file that has it here. The bytes are verified: the file may have changed since it was looked at, and a fact under
 * the wrong id would mislead every worktree.
 */
export function blobFromFile(tree: WorktreeTree, oid: Oid, path: string, scratch?: Scratch): ReadBlob | undefined {
  const size = tree.files.get(path)?.stamp.size ?? 0;
  if (size > MAX_READ_BYTES) return { size };
  const bytes = tree.read(path, scratch?.room)?.bytes;
  return bytes && isBlob(bytes, oid) ? { size: bytes.length, bytes } : undefined;
}

/** Blobs that git does not have are left out. */
export async function blobsFromGit(git: Git, tree: WorktreeTree, oids: readonly Oid[]): Promise<Map<Oid, ReadBlob>> {
  const found = new Map<Oid, ReadBlob>();
  for await (const blob of readBlobs(git, tree.checkout, { oids, maxBlobBytes: MAX_READ_BYTES })) {
    if (blob.state === 'read') found.set(blob.oid, { size: blob.content.length, bytes: blob.content });
    else if (blob.state === 'too_large') found.set(blob.oid, { size: blob.size });
  }
  return found;
}
