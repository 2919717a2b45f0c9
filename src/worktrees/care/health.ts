import { operationUnderWay } from '../../git/repository.ts';
import { readStatus } from '../../git/status.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { WorktreeView } from '../../protocol/worktrees.ts';
import { openWorktree } from '../open-worktree.ts';
import type { Parts } from '../parts.ts';
import type { StoredWorktree } from '../record.ts';

/** GREEN clean, AMBER not committed or half way through a merge, RED not to be read by git (T-04). */
export async function healthOf(parts: Parts, { path }: StoredWorktree): Promise<WorktreeView['health']> {
  if (path === null) return null;
  try {
    const worktree = await openWorktree(parts, path);
    const isClean = (await readStatus(parts.git, worktree)).length === 0 && !(await operationUnderWay(worktree));
    return isClean ? 'GREEN' : 'AMBER';
  } catch (error) {
    if (error instanceof ReefError) return 'RED';
    throw error;
  }
}
