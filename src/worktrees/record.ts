import type { Oid } from '../git/ref-name.ts';
import type { ProcessIdentity } from '../process/identity.ts';
import type { PendingMerge, WorktreeRecord, WorktreeStatus } from '../protocol/worktrees.ts';

/** What is about to be done, written before it is: a kill leaves either nothing or a row that says what to look for. */
export type Intent = { by: ProcessIdentity } & (
  | {
      kind: 'create';
      /** Work to be laid into it; without, it starts from the tip of its base. */
      keptOn?: string;
      /** `made`: the checkout stands; what follows may be repeated. */
      step: 'claimed' | 'made';
    }
  /** Nothing is removed yet: taken back by forgetting it. */
  | { kind: 'keep' }
  | { kind: 'accept'; commit: Oid; target: string; stamp: string; head: Oid }
  | ({ kind: 'remove' } & Removal)
);

interface Removal {
  path: string;
  /** The state that was kept: anything else in the folder is somebody's work. */
  stamp: string;
  /** The branch to go too, if it is still where it was. */
  branch?: { name: string; at: Oid };
}

/** A record with what only the manager needs. */
export interface StoredWorktree extends WorktreeRecord {
  title: string;
  /** The worktree it is a fork's branch of: outside the queue, merged back into that and not into a branch. */
  parentId?: string;
  createdAt: string;
  endedAt?: string;
  anyway: boolean;
  overtaken: number;
  setup: { state: 'none' | 'done' | 'failed'; message?: string };
  intent?: Intent;
  pending?: PendingMerge & { options: { strategy: 'squash' | 'merge' | 'ff'; yes: boolean; message?: string } };
  merged?: { commit: Oid; target: string };
  /** The ref that holds its work while it has no folder. */
  keptOn?: string;
  failure?: { code: string; message: string };
  /** Worktrees with which a hot clash was announced. */
  announced: string[];
  /** A folder that was left because it had changed meanwhile, or somebody was in it. */
  leftover?: { path: string; why: string };
}

const ENDED: readonly WorktreeStatus[] = ['accepted', 'discarded'];

export function isOpen(row: StoredWorktree): boolean {
  return !ENDED.includes(row.status) || row.intent !== undefined;
}

export function toRecord(row: StoredWorktree): WorktreeRecord {
  const { id, taskId, path, branch, base, changePlan, portBase, priority, status } = row;
  const record = { id, taskId, path, branch, base, changePlan, portBase, status };
  return priority === undefined ? record : { ...record, priority };
}
