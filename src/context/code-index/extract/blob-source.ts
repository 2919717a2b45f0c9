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
 * Reads a blob from the file that has it here, otherwise from git. The bytes of a file are verified: it may have changed since it was
 * looked at, and a fact under the wrong id would mislead every worktree.
 */
export class BlobSource {
  readonly #git: Git;
  readonly #tree: WorktreeTree;

  constructor(git: Git, tree: WorktreeTree) {
    this.#git = git;
    this.#tree = tree;
  }

  fromFile(oid: Oid, path: string, scratch?: Scratch): ReadBlob | undefined {
    const size = this.#tree.files.get(path)?.stamp.size ?? 0;
    if (size > MAX_READ_BYTES) return { size };
    const bytes = this.#tree.read(path, scratch?.room)?.bytes;
    return bytes && isBlob(bytes, oid) ? { size: bytes.length, bytes } : undefined;
  }

  /** Blobs that git does not have are left out. */
  async fromGit(oids: readonly Oid[]): Promise<Map<Oid, ReadBlob>> {
    const found = new Map<Oid, ReadBlob>();
    for await (const blob of readBlobs(this.#git, this.#tree.checkout, { oids, maxBlobBytes: MAX_READ_BYTES })) {
      if (blob.state === 'read') found.set(blob.oid, { size: blob.content.length, bytes: blob.content });
      else if (blob.state === 'too_large') found.set(blob.oid, { size: blob.size });
    }
    return found;
  }
}
