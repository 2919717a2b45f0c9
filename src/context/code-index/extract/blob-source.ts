import { join } from 'node:path';
import { readBlobs } from '../../../git/blobs.ts';
import type { Git } from '../../../git/git-command.ts';
import type { Oid } from '../../../git/ref-name.ts';
import { isBlob } from '../tree/blob-id.ts';
import { readRegular, type Scratch } from '../tree/read-file.ts';
import type { WorktreeTree } from '../tree/worktree-tree.ts';

/** Larger files get no sketch. */
const MAX_BYTES = 8 * 1024 * 1024;

export type BlobBytes = { state: 'read'; bytes: Buffer } | { state: 'too_large'; size: number } | { state: 'gone' };

/**
 * The bytes of a blob: from the file that has them here, else from git. They are verified, because a file may have changed since it
 * was looked at, and a fact under the wrong id would mislead every worktree.
 */
export class BlobSource {
  readonly #git: Git;
  readonly #tree: WorktreeTree;

  constructor(git: Git, tree: WorktreeTree) {
    this.#git = git;
    this.#tree = tree;
  }

  fromFile(oid: Oid, path: string, scratch?: Scratch): BlobBytes | undefined {
    const size = this.#tree.files.get(path)?.stamp.size ?? 0;
    if (size > MAX_BYTES) return { state: 'too_large', size };
    const read = readRegular(join(this.#tree.checkout.toplevel, path), MAX_BYTES, scratch?.room);
    return read && isBlob(read.bytes, oid) ? { state: 'read', bytes: read.bytes } : undefined;
  }

  async fromGit(oids: readonly Oid[]): Promise<Map<Oid, BlobBytes>> {
    const found = new Map<Oid, BlobBytes>();
    for await (const blob of readBlobs(this.#git, this.#tree.checkout, { oids, maxBlobBytes: MAX_BYTES })) {
      if (blob.state === 'read') found.set(blob.oid, { state: 'read', bytes: blob.content });
      else if (blob.state === 'too_large') found.set(blob.oid, { state: 'too_large', size: blob.size });
      else found.set(blob.oid, { state: 'gone' });
    }
    return found;
  }
}
