import { type Capture, capture } from '../git/capture.ts';
import type { Checkout } from '../git/checkout.ts';
import { commitTree } from '../git/commit.ts';
import { layFiles } from '../git/lay-files.ts';
import { mergeTrees } from '../git/merge.ts';
import { worktreeBranch } from '../git/ref-name.ts';
import type { Deps } from './deps.ts';
import { refs } from './layout.ts';
import { freshFields, type StoredWorktree } from './records.ts';
import { folderOf, openWorktree } from './registry.ts';

/**
 * Enters a worktree for one branch of a fork, from the parent's files as they are now. It skips the queue, because its
 * parent has room and a plan already. The same key gives the same worktree.
 */
export async function enterBranch(
  deps: Deps,
  { key, parentId, id }: { key: string; parentId: string; id: string },
): Promise<StoredWorktree> {
  const known = deps.records.byTask(key);
  if (known) return known;
  const parent = deps.records.get(parentId);
  const worktree = await openWorktree(deps, folderOf(parent));
  const message = `Reef forks ${parent.title}`;
  const { commit } = await capture(deps.git, worktree, { ref: refs.work(parentId), message, at: deps.clock.now() });
  const title = `${parent.title} branch`;
  const row: StoredWorktree = {
    ...freshFields(deps.clock.now()),
    ...{ id, taskId: key, title, parentId, status: 'creating', changePlan: [], anyway: true },
    branch: worktreeBranch(title, id),
    base: { branch: '', commit },
    intent: { kind: 'create', by: deps.self, step: 'claimed' },
  };
  return deps.records.transact(() => {
    deps.records.insert(row);
    return deps.records.byTask(key) ?? row;
  });
}

/**
 * Merges a fork's branch into its parent's files; index and branch of the parent stay. Changes are counted from the files
 * both began with, so a repeat adds nothing. With conflicts nothing is written, and the branch keeps its work.
 */
export async function mergeBack(deps: Deps, branchId: string, parentId: string): Promise<{ conflicts: string[] }> {
  const branch = deps.records.get(branchId);
  if (branch.status === 'discarded') return { conflicts: [] };
  const [from, into] = [await take(deps, branchId), await take(deps, parentId)];
  const { git, clock } = deps;
  const signature = { name: 'Reef', email: 'reef@localhost.invalid', at: clock.now() };
  const began = { parents: [branch.base.commit], message: 'Reef joins', signature };
  const [ours, theirs] = [
    await commitTree(git, into.worktree, { ...began, tree: into.tree }),
    await commitTree(git, into.worktree, { ...began, tree: from.tree }),
  ];
  const { isClean, conflicts, tree } = await mergeTrees(git, into.worktree, { ours, theirs });
  if (!isClean) return { conflicts };
  if (tree !== into.tree) await layFiles(deps.git, into.worktree, { from: into.tree, to: tree });
  deps.edited(into.worktree.toplevel);
  return { conflicts: [] };
}

async function take(deps: Deps, id: string): Promise<Capture & { worktree: Checkout }> {
  const row = deps.records.get(id);
  const worktree = await openWorktree(deps, folderOf(row));
  const message = `Reef joins ${row.title}`;
  return {
    worktree,
    ...(await capture(deps.git, worktree, { ref: refs.work(id), message, at: deps.clock.now() })),
  };
}
