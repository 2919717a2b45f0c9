import { checkBranch, worktreeBranch } from '../git/ref-name.ts';
import { claimWithin, type QueueSettings } from './dispatch.ts';
import { findBase, refuseLowDisk } from './make/checks.ts';
import type { Parts } from './parts.ts';
import { declaredPlan } from './plan/plan-path.ts';
import type { StoredWorktree } from './record.ts';

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

/** What a task would be entered as; refuses before any change (T-02). */
export async function draft(parts: Parts, task: Task, id: string): Promise<StoredWorktree> {
  const changePlan = declaredPlan(task.plan);
  const base = await findBase(parts.git, parts.place, task.base);
  if (base.branch !== '') checkBranch(base.branch);
  await refuseLowDisk(parts, base.commit);
  const title = task.title ?? task.taskId;
  return {
    ...{ id, taskId: task.taskId, title, base, changePlan, status: 'queued', path: null, portBase: 0 },
    branch: worktreeBranch(title, id),
    createdAt: parts.clock.now().toISOString(),
    anyway: task.anyway ?? false,
    overtaken: 0,
    setup: { state: 'none' },
    announced: [],
    ...(task.priority !== undefined && { priority: task.priority }),
  };
}

/** Enters a task and claims whatever may start, in one transaction (T-22). */
export function enter(parts: Parts, row: StoredWorktree, settings: QueueSettings) {
  return parts.records.transact(() => {
    const claimed = parts.records.insert(row) ? claimWithin(parts, settings) : [];
    return { row: parts.records.byTask(row.taskId) ?? row, claimed };
  });
}
