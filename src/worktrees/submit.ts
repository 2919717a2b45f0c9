import { checkBranch, worktreeBranch } from '../git/ref-name.ts';
import type { Deps } from './deps.ts';
import { claimWithin, type QueueSettings } from './dispatch.ts';
import { findBase, refuseLowDisk } from './make/checks.ts';
import { declaredPlan } from './plan/plan-path.ts';
import type { StoredWorktree } from './record.ts';

const LONGEST_TITLE = 200;

/** What a task is called in lists and in the name of its branch: its first line. */
export function titleOf(task: string): string {
  return (task.split('\n', 1)[0] ?? task).slice(0, LONGEST_TITLE);
}

export interface Task {
  /** One task, one worktree, however often it is submitted. */
  taskId: string;
  plan: string[];
  title?: string;
  /** A local branch, to which it will be merged, or another commit. */
  base?: string;
  priority?: number;
  /** Starts even if it clashes. */
  anyway?: boolean;
}

/** What a task would be entered as; refuses before any change. */
export async function draft(deps: Deps, task: Task, id: string): Promise<StoredWorktree> {
  const changePlan = declaredPlan(task.plan);
  const base = await findBase(deps.git, deps.checkout, task.base);
  if (base.branch !== '') checkBranch(base.branch);
  await refuseLowDisk(deps, base.commit);
  const title = task.title ?? task.taskId;
  return {
    ...{ id, taskId: task.taskId, title, base, changePlan, status: 'queued', path: null, portBase: 0 },
    branch: worktreeBranch(title, id),
    createdAt: deps.clock.now().toISOString(),
    anyway: task.anyway ?? false,
    overtaken: 0,
    setup: { state: 'none' },
    announced: [],
    ...(task.priority !== undefined && { priority: task.priority }),
  };
}

/** Enters a task and claims whatever may start, in one transaction. */
export function enter(deps: Deps, row: StoredWorktree, settings: QueueSettings) {
  return deps.records.transact(() => {
    const claimed = deps.records.insert(row) ? claimWithin(deps, settings) : [];
    return { row: deps.records.byTask(row.taskId) ?? row, claimed };
  });
}
