import { ReefError } from '../../protocol/errors.ts';
import type { Caller } from '../../protocol/operations.ts';
import type { RunBudget } from '../../protocol/workflow.ts';
import type { BlockJob } from '../../store/block-table.ts';
import type { RunRequest } from '../../store/run-table.ts';
import type { Store } from '../../store/store.ts';
import type { RunInput } from '../run/branch-run.ts';
import type { RunPermissions } from './block-agents.ts';

/** A run as requested. Manifest and gates are frozen here. */
export interface RunSpec extends Omit<RunInput, 'runId' | 'worktree'> {
  budget: RunBudget;
  /** Merge at success. */
  accept: boolean;
  leave: RunPermissions;
  plan: string[];
  base?: string;
  priority?: number;
  anyway: boolean;
  /** Several agents try the task: what their runs have in common. */
  group?: string;
  createdAt: string;
  by: string;
  /** The run it goes on with, and how often work came back from the merge by itself. */
  continues?: { runId: string; returns: number };
}
export type StoredRun = RunRequest<RunSpec>;

/** A job sees the runs that it or a job below it started; people see all. */
export function isTheirRun(store: Store, { doc }: StoredRun, caller: Pick<Caller, 'jobId'>): boolean {
  return caller.jobId === undefined || jobsAbove(store, doc.leave.parentId).includes(caller.jobId);
}

/** Ids from the root down to this job. */
export function jobsAbove(store: Store, jobId: string | undefined): string[] {
  const job = jobId === undefined ? undefined : store.jobs.get(jobId)?.job;
  return job ? [...jobsAbove(store, job.parentId), job.id] : [];
}

/** The visit that a job works on: its own, or that of the nearest job above. */
export function blockOf(store: Store, jobId: string): BlockJob | undefined {
  const path = jobsAbove(store, jobId).toReversed();
  return path.map((id) => store.blocks.get(id)).find((block) => block !== undefined);
}

export function findTheirRun(store: Store, text: string, caller: Pick<Caller, 'jobId'>): StoredRun {
  const run = findRun(store, text);
  if (!isTheirRun(store, run, caller)) throw new ReefError('not_yours', `run ${run.id} is not one of yours`);
  return run;
}

/** Finds a run by id, by a unique beginning of one, or by `@last`. */
export function findRun(store: Store, text: string): StoredRun {
  const [newest] = store.runs.newest<RunSpec>(1);
  if (text === '@last' && newest) return newest;
  const wanted = text.toUpperCase();
  const [found, another] = store.runs.idsByPrefix(wanted);
  if (found !== undefined && found !== wanted && another !== undefined) {
    throw new ReefError('ambiguous_id', `several runs begin with "${text}"`);
  }
  const run = found === undefined ? undefined : store.runs.get<RunSpec>(found);
  if (!run) throw new ReefError('run_not_found', `There is no run "${text}".`);
  return run;
}
