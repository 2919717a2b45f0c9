import { capture } from '../../git/capture.ts';
import { worktreeBranch } from '../../git/ref-name.ts';
import type { Deps } from '../deps.ts';
import { refs } from '../layout.ts';
import { folderOf, openWorktree } from '../open-worktree.ts';
import type { StoredWorktree } from '../record.ts';

/**
 * Enters a worktree for one branch of a fork, made from the parent's files as they are now and outside the queue: its
 * parent has room and plan already. Asked again with the same key it is the same one.
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
    ...{ id, taskId: key, title, parentId, status: 'creating', path: null, portBase: 0 },
    branch: worktreeBranch(title, id),
    base: { branch: '', commit },
    changePlan: [],
    createdAt: deps.clock.now().toISOString(),
    ...{ anyway: true, overtaken: 0, setup: { state: 'none' }, announced: [] },
    intent: { kind: 'create', by: deps.self, step: 'claimed' },
  };
  return deps.records.transact(() => {
    deps.records.insert(row);
    return deps.records.byTask(key) ?? row;
  });
}
