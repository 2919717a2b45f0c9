import { capture } from '../../git/capture.ts';
import { worktreeBranch } from '../../git/ref-name.ts';
import { refs } from '../layout.ts';
import { folderOf, openWorktree } from '../open-worktree.ts';
import type { Parts } from '../parts.ts';
import type { StoredWorktree } from '../record.ts';

/**
 * Enters a worktree for one branch of a fork, made from the parent's files as they are now and outside the queue: its
 * parent has room and plan already (W-26). Asked again with the same key it is the same one.
 */
export async function enterBranch(
  parts: Parts,
  { key, parentId, id }: { key: string; parentId: string; id: string },
): Promise<StoredWorktree> {
  const known = parts.records.byTask(key);
  if (known) return known;
  const parent = parts.records.get(parentId);
  const worktree = await openWorktree(parts, folderOf(parent));
  const message = `Reef forks ${parent.title}`;
  const { commit } = await capture(parts.git, worktree, { ref: refs.work(parentId), message, at: parts.clock.now() });
  const title = `${parent.title} branch`;
  const row: StoredWorktree = {
    ...{ id, taskId: key, title, parentId, status: 'creating', path: null, portBase: 0 },
    branch: worktreeBranch(title, id),
    base: { branch: '', commit },
    changePlan: [],
    createdAt: parts.clock.now().toISOString(),
    ...{ anyway: true, overtaken: 0, setup: { state: 'none' }, announced: [] },
    intent: { kind: 'create', by: parts.self, step: 'claimed' },
  };
  return parts.records.transact(() => {
    parts.records.insert(row);
    return parts.records.byTask(key) ?? row;
  });
}
