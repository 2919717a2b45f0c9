import { operationUnderWay } from '../../git/repository.ts';
import { readStatus } from '../../git/status.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { WorktreeView } from '../../protocol/worktrees.ts';
import type { Deps } from '../deps.ts';
import { openWorktree } from '../open-worktree.ts';
import type { StoredWorktree } from '../record.ts';

/** GREEN clean, AMBER not committed or half way through a merge, RED not to be read by git. */
export async function healthOf(deps: Deps, { path }: StoredWorktree): Promise<WorktreeView['health']> {
  if (path === null) return null;
  try {
    const worktree = await openWorktree(deps, path);
    const isClean = (await readStatus(deps.git, worktree)).length === 0 && !(await operationUnderWay(worktree));
    return isClean ? 'GREEN' : 'AMBER';
  } catch (error) {
    if (error instanceof ReefError) return 'RED';
    throw error;
  }
}
