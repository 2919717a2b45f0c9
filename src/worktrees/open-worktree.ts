import { type Checkout, redirected } from '../git/checkout.ts';
import { ReefError } from '../protocol/errors.ts';
import type { Deps } from './deps.ts';

/**
 * The checkout in a folder of ours, which an agent can write to: one whose `.git` leads to another repository, or to
 * another checkout of this one, is not the worktree of the record.
 */
export async function openWorktree({ git, checkout }: Deps, path: string): Promise<Checkout> {
  const worktree = await git.locate(path);
  if (worktree.toplevel === path && worktree.commonDir === checkout.commonDir) return worktree;
  throw redirected(path, `leads to ${worktree.toplevel} of ${worktree.commonDir}`);
}

export function folderOf({ id, path, status }: { id: string; path: string | null; status: string }): string {
  if (path !== null) return path;
  throw new ReefError('worktree_state', `The worktree ${id} is ${status} and has no folder.`);
}
