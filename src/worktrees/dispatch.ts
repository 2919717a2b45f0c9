import type { WorktreeView } from '../protocol/worktrees.ts';
import type { Deps } from './deps.ts';
import { meetings, type Touched, touchedBy } from './plan/plan-path.ts';
import { type Decision, decide, type QueueItem } from './queue.ts';
import type { StoredWorktree } from './record.ts';

export interface QueueSettings {
  maxActive: number;
  /** So many places must be shared before two plans clash. */
  overlapThreshold: number;
}

const STATES: Partial<Record<StoredWorktree['status'], QueueItem['state']>> = {
  queued: 'waiting',
  creating: 'active',
  running: 'active',
  accepting: 'active',
  held: 'held',
};

function toItem(row: StoredWorktree, since: number): QueueItem[] {
  const state = STATES[row.status];
  const { id, overtaken, anyway, priority, parentId } = row;
  if (state === undefined || parentId !== undefined) return [];
  return [{ id, state, since, overtaken, anyway, ...(priority !== undefined && { priority }) }];
}

/** Where two plans meet, each pair compared once. What was really changed is in the plans, as observed. */
function meetingsOf({ fold }: Deps, rows: readonly StoredWorktree[]) {
  const plans = new Map<string, Touched>();
  const known = new Map<string, string[]>();
  const planOf = (id: string) => {
    const row = rows.find((each) => each.id === id);
    const plan = plans.get(id) ?? touchedBy(row?.changePlan.map(({ path }) => path) ?? [], fold);
    plans.set(id, plan);
    return plan;
  };
  return (one: string, other: string): string[] => {
    const key = [one, other].sort().join(' ');
    const shared = known.get(key) ?? meetings(planOf(one), planOf(other));
    known.set(key, shared);
    return shared;
  };
}

function decideNow(deps: Deps, { maxActive, overlapThreshold }: QueueSettings) {
  const rows = deps.records.open();
  const shared = meetingsOf(deps, rows);
  const clash = (one: string, other: string) => shared(one, other).length >= Math.max(1, overlapThreshold);
  return { rows, shared, decision: decide(rows.flatMap(toItem), clash, maxActive) };
}

/** Looks at the whole queue and claims whoever may start. For a transaction: scan and claim are one. */
export function claimWithin(deps: Deps, settings: QueueSettings): string[] {
  const { start, overtaken } = decideNow(deps, settings).decision;
  for (const id of start) {
    deps.records.changeWithin(id, (now) => ({
      ...now,
      status: 'creating',
      intent: { kind: 'create', by: deps.self, step: 'claimed' },
    }));
  }
  for (const id of overtaken) {
    deps.records.changeWithin(id, (now) => ({ ...now, overtaken: now.overtaken + 1 }));
  }
  return start;
}

/** The place of every waiting worktree, and whom it waits for and where; held ones say so by their status. */
export function queuePlaces(deps: Deps, settings: QueueSettings): Map<string, NonNullable<WorktreeView['queue']>> {
  const { rows, shared, decision } = decideNow(deps, settings);
  const statusOf = new Map(rows.map(({ id, status }) => [id, status]));
  const toView = ({ id, waitsFor }: Decision['waiting'][number], index: number) => {
    const blockers = waitsFor.map((worktreeId) => ({
      worktreeId,
      status: statusOf.get(worktreeId) ?? 'queued',
      files: shared(id, worktreeId),
    }));
    return [id, { place: index + 1, waitsFor: blockers }] as const;
  };
  return new Map(decision.waiting.map(toView));
}
