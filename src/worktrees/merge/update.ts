import { join } from 'node:path';
import type { Checkout } from '../../git/checkout.ts';
import { commitTree } from '../../git/commit.ts';
import { layFiles, moveHead } from '../../git/lay-files.ts';
import { mergeTrees } from '../../git/merge.ts';
import { checkBranch } from '../../git/ref-name.ts';
import { isAncestor, readRef } from '../../git/repository.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { UpdatedWorktree } from '../../protocol/worktrees.ts';
import type { Deps } from '../deps.ts';
import { refuseBusy } from '../keep/put-aside.ts';
import { refs } from '../layout.ts';
import { type StoredWorktree, without } from '../records.ts';
import { folderOf, openWorktree } from '../registry.ts';
import { takeBack, targetOf } from './accept.ts';
import { hasMarks, markedFiles } from './conflict.ts';
import { commitWork, signatureOf } from './merge-commit.ts';

/**
 * Brings the target into a worktree. Work that was not committed becomes a commit first, then both are merged. Where they
 * conflict, the files get the usual marks and are remembered: nothing is merged back while one of them is marked. No merge
 * is left under way in the sense of git, so that captures, gates and agents work on as usual.
 */
export async function updateWorktree(deps: Deps, id: string, into?: string): Promise<UpdatedWorktree> {
  refuseBusy(deps, id);
  const before = deps.records.get(id);
  if (before.status === 'accepting') await takeBack(deps, id);
  const row = deps.records.move(id, ['running'], (now) => now);
  const target = checkBranch(targetOf(before, into === undefined ? {} : { into }));
  const worktree = await openWorktree(deps, folderOf(row));
  const marked = await markedFiles(row);
  if (marked.length > 0) return { id, target, status: 'conflict', files: marked };
  const { git, checkout } = deps;
  const onto = await readRef(git, checkout, refs.branch(target));
  if (onto === undefined) throw new ReefError('target_unknown', `There is no branch ${target}.`);
  const signature = await signatureOf(deps);
  const tip = await commitWork(deps, { row, worktree, message: `${row.title}\n`, signature });
  if (await isAncestor(git, worktree, { of: tip.commit, commit: onto })) {
    return { id, target, status: 'current', files: [] };
  }
  const { tree, conflicts } = await mergeTrees(git, worktree, { ours: tip.commit, theirs: onto });
  const message = `Bring ${target} in\n`;
  const merged = await commitTree(git, worktree, { tree, parents: [tip.commit, onto], message, signature });
  // Before the files: marks that nobody remembers could be merged.
  deps.records.change(id, (now) => remember(now, conflicts));
  await layFiles(git, worktree, { from: tip.tree, to: tree });
  await moveHead(git, worktree, { from: tip.head, to: merged });
  await deps.copies.settle(worktree);
  deps.edited(worktree.toplevel);
  if (conflicts.length === 0) return { id, target, status: 'updated', files: [] };
  const unmarked = await withoutMarks(worktree, conflicts);
  deps.records.change(id, (now) => ({ ...now, conflict: { files: conflicts, unmarked } }));
  return { id, target, status: 'conflict', files: conflicts };
}

function remember(row: StoredWorktree, files: string[]): StoredWorktree {
  return files.length === 0
    ? (without(row, 'conflict') as StoredWorktree)
    : { ...row, conflict: { files, unmarked: [] } };
}

/** A binary file, or one that one side deleted: git chose one side, and only a person knows whether it is right. */
async function withoutMarks({ toplevel }: Checkout, files: readonly string[]): Promise<string[]> {
  const plain: string[] = [];
  for (const file of files) if (!(await hasMarks(join(toplevel, file)))) plain.push(file);
  return plain;
}
