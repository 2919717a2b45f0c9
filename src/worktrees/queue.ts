import { checkBranch, worktreeBranch } from '../git/ref-name.ts';
import type { WorktreeView } from '../protocol/worktrees.ts';
import type { Deps } from './deps.ts';
import { findBase, refuseLowDisk } from './make/checks.ts';
import { declaredPlan, meetings, type Touched, touchedBy } from './plan.ts';
import { freshFields, type StoredWorktree } from './records.ts';

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
  /** It is one of several attempts at one task. */
  group?: string;
}

/** The record of a task. Refuses before any change. */
export async function draft(deps: Deps, task: Task, id: string): Promise<StoredWorktree> {
  const changePlan = declaredPlan(task.plan);
  const base = await findBase(deps.git, deps.checkout, task.base);
  if (base.branch !== '') checkBranch(base.branch);
  await refuseLowDisk(deps, base.commit);
  const title = task.title ?? task.taskId;
  return {
    ...freshFields(deps.clock.now()),
    ...{ id, taskId: task.taskId, title, base, changePlan, status: 'queued' },
    branch: worktreeBranch(title, id),
    anyway: task.anyway ?? false,
    ...(task.priority !== undefined && { priority: task.priority }),
    ...(task.group !== undefined && { group: task.group }),
  };
}

/** Enters a task and claims whatever may start, in one transaction. */
export function enter(deps: Deps, row: StoredWorktree, settings: QueueSettings) {
  return deps.records.transact(() => {
    const claimed = deps.records.insert(row) ? claimWithin(deps, settings) : [];
    return { row: deps.records.byTask(row.taskId) ?? row, claimed };
  });
}

export interface QueueSettings {
  maxActive: number;
  /** This many places must be shared before two plans clash. */
  overlapThreshold: number;
}

const STATES: Partial<Record<StoredWorktree['status'], QueueItem['state']>> = {
  queued: 'waiting',
  creating: 'active',
  running: 'active',
  accepting: 'active',
  held: 'held',
};

/** A task that has ended gives its room back, and still blocks those that clash with its work. */
function toItem(row: StoredWorktree, since: number, atWork: ReadonlySet<string>): QueueItem[] {
  const hasEnded = row.status === 'running' && !atWork.has(row.id);
  const state = hasEnded ? 'held' : STATES[row.status];
  const { id, overtaken, anyway, priority, parentId } = row;
  if (state === undefined || parentId !== undefined) return [];
  return [{ id, state, since, overtaken, anyway, ...(priority !== undefined && { priority }) }];
}

/** Where two plans meet; each pair is compared once. */
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
  const groups = new Map(rows.flatMap(({ id, group }) => (group === undefined ? [] : [[id, group] as const])));
  const isSameTask = (one: string, other: string) => groups.has(one) && groups.get(one) === groups.get(other);
  const clash = (one: string, other: string) =>
    !isSameTask(one, other) && shared(one, other).length >= Math.max(1, overlapThreshold);
  const atWork = deps.records.atWork();
  const items = rows.flatMap((row, since) => toItem(row, since, atWork));
  return { rows, shared, decision: decide(items, clash, maxActive) };
}

/** Claims every task that may start. The caller's transaction makes scan and claim one. */
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

/** The place of each waiting worktree, and whom it waits for and where. */
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

/** Those of whom it waits for in which nothing goes on: it starts when a person has merged, dropped or answered them. */
export function waitsBehind(deps: Deps, settings: QueueSettings, id: string): string[] {
  const { rows, decision } = decideNow(deps, settings);
  const waitsFor = decision.waiting.find((each) => each.id === id)?.waitsFor ?? [];
  return rows.filter((row) => waitsFor.includes(row.id) && isAtRest(deps, row)).map((row) => row.id);
}

function isAtRest({ records }: Deps, { id, status, pending }: StoredWorktree): boolean {
  const isStill = status === 'held' || (status === 'running' && pending?.whenClean !== true);
  return isStill && records.needsPerson(id);
}

/** A worktree as the queue sees it. */
export interface QueueItem {
  id: string;
  /** `active` is at work, or being made, and takes room; `held` blocks without room. */
  state: 'waiting' | 'active' | 'held';
  /** Order of arrival. */
  since: number;
  /** 1 goes first; without one, last. */
  priority?: number;
  /** How often a later task with which it clashes went before it. */
  overtaken: number;
  /** Waits for nobody. */
  anyway: boolean;
}

export interface Decision {
  start: string[];
  overtaken: string[];
  /** In order of their turn; an empty list of names waits for room. */
  waiting: { id: string; waitsFor: string[] }[];
}

const MOST_OVERTAKES = 3;

/**
 * Decides who starts, in order of turn. A task starts unless it clashes with one that is at work, held, or waiting before
 * it. Deterministic: the same items give the same decision.
 */
export function decide(
  items: readonly QueueItem[],
  clash: (one: string, other: string) => boolean,
  maxActive: number,
): Decision {
  const busy = items.filter(({ state }) => state !== 'waiting').map(({ id }) => id);
  let room = maxActive - items.filter(({ state }) => state === 'active').length;
  const decision: Decision = { start: [], overtaken: [], waiting: [] };
  const turns = items.filter(({ state }) => state === 'waiting').sort(byTurn);
  for (const item of turns) {
    const before = [...busy, ...decision.start, ...decision.waiting.map(({ id }) => id)];
    const waitsFor = item.anyway ? [] : before.filter((id) => clash(item.id, id));
    if (waitsFor.length === 0 && room > 0) {
      decision.start.push(item.id);
      room--;
    } else decision.waiting.push({ id: item.id, waitsFor });
  }
  const started = turns.filter(({ id }) => decision.start.includes(id));
  for (const { id, since } of turns.filter(({ id }) => !decision.start.includes(id))) {
    if (started.some((other) => other.since > since && clash(other.id, id))) decision.overtaken.push(id);
  }
  return decision;
}

function byTurn(a: QueueItem, b: QueueItem): number {
  const [starvedA, starvedB] = [a.overtaken >= MOST_OVERTAKES, b.overtaken >= MOST_OVERTAKES];
  if (starvedA !== starvedB) return starvedA ? -1 : 1;
  const [first, second] = [a.priority ?? Number.MAX_SAFE_INTEGER, b.priority ?? Number.MAX_SAFE_INTEGER];
  return starvedA || first === second ? a.since - b.since : first - second;
}
