import { capture } from '../../git/capture.ts';
import type { Checkout } from '../../git/checkout.ts';
import { commitTree } from '../../git/commit.ts';
import type { Git, Signature } from '../../git/git-command.ts';
import { mergeTrees } from '../../git/merge.ts';
import { checkOid, type Oid } from '../../git/ref-name.ts';
import { isAncestor, readIdentity, readTree } from '../../git/repository.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { MergeStrategy } from '../../protocol/worktrees.ts';
import type { Deps } from '../deps.ts';
import { refs } from '../layout.ts';
import type { StoredWorktree } from '../records.ts';
import { conflictError } from './conflict.ts';

export interface Tip {
  /** HEAD of the worktree. */
  head: Oid;
  /** HEAD, or a commit on top of it with what was not committed. */
  commit: Oid;
  tree: Oid;
}

interface Commit {
  message: string;
  signature: Signature;
}

/** Accepting is the user's act, so its commits bear the user's name. */
export async function signatureOf({ git, checkout, clock }: Deps): Promise<Signature> {
  const identity = await readIdentity(git, checkout);
  if (identity) return { ...identity, at: clock.now() };
  throw new ReefError('identity_missing', 'git knows no name and e-mail address for you.');
}

/** Commits all work on no branch: if the merge fails, nothing has changed. */
export async function commitWork(
  deps: Deps,
  { row, worktree, message, signature }: { row: StoredWorktree; worktree: Checkout } & Commit,
): Promise<Tip> {
  const { git, clock } = deps;
  const taken = await capture(git, worktree, { ref: refs.work(row.id), message, at: clock.now() });
  const { parent: head, tree } = taken;
  if (tree === (await readTree(git, worktree, head))) return { head, commit: head, tree };
  return { head, tree, commit: await commitTree(git, worktree, { tree, parents: [head], message, signature }) };
}

export interface Merge extends Commit {
  row: StoredWorktree;
  strategy: MergeStrategy;
  /** Where the target stands. */
  onto: Oid;
  tip: Tip;
}

export interface Merged {
  commit: Oid;
  tree: Oid;
}

/** Writes the merge as objects only, so conflicts change nothing. */
export async function commitMerge(deps: Deps, worktree: Checkout, merge: Merge): Promise<Merged> {
  const { git } = deps;
  const { row, strategy, onto, tip, message, signature } = merge;
  if (strategy === 'ff') {
    if (await isAncestor(git, worktree, { of: tip.commit, commit: onto }))
      return { commit: tip.commit, tree: tip.tree };
    throw new ReefError('not_fast_forward', 'The target has commits the worktree does not have.');
  }
  const { tree, isClean, conflicts } = await mergeTrees(git, worktree, { ours: onto, theirs: tip.commit });
  if (!isClean) throw conflictError(row, conflicts, 'Not merged: both sides changed');
  if (tree === (await readTree(git, worktree, onto))) return { commit: onto, tree };
  const parents = strategy === 'merge' ? [onto, tip.commit] : [onto];
  return { tree, commit: await commitTree(git, worktree, { tree, parents, message, signature }) };
}

/** The newest commit that two histories share. */
export async function mergeBase(
  git: Git,
  checkout: Checkout,
  [one, other]: readonly [Oid, Oid],
): Promise<Oid | undefined> {
  if (one === other) return one;
  const args = ['merge-base', '--end-of-options', checkOid(one), checkOid(other)];
  const { code, stdout } = await git.call(checkout, args, { okCodes: [0, 1] });
  return code === 0 ? checkOid(stdout.toString('latin1').trim()) : undefined;
}
