import type { Checkout } from '../../../src/git/checkout.ts';
import type { Git } from '../../../src/git/git-command.ts';
import { fillWorktree, registerWorktree } from '../../../src/git/worktree.ts';

/** A worktree with its files on a new branch, made as the product makes one. */
export async function addWorktree(
  git: Git,
  checkout: Checkout,
  { branch, ...wanted }: { path: string; branch: string; commit: string; reason: string },
): Promise<Checkout> {
  const worktree = await registerWorktree(git, checkout, { ...wanted, branch: { name: branch, isNew: true } });
  await fillWorktree(git, worktree);
  return worktree;
}
