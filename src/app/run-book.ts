import { ReefError } from '../protocol/errors.ts';
import type { Caller } from '../protocol/operations.ts';
import type { RunBudget, WorkflowManifest } from '../protocol/workflow.ts';
import type { RunRequest } from '../store/run-table.ts';
import type { Store } from '../store/store.ts';
import type { GateCommands } from '../workflow/workers/gate-commands.ts';
import type { RunLeave } from './agent-jobs.ts';

/** A run as it was asked for. Manifest and gates are frozen here: nothing that happens later changes them (W-03). */
export interface RunOrder {
  task: string;
  node: string;
  manifest: WorkflowManifest;
  gates: GateCommands;
  agent?: string;
  model?: string;
  stepping: boolean;
  autoResume: boolean;
  /** Merge at success. */
  accept: boolean;
  budget: RunBudget;
  leave: RunLeave;
  plan: string[];
  base?: string;
  priority?: number;
  anyway: boolean;
  createdAt: string;
  by: string;
}
export type BookedRun = RunRequest<RunOrder>;

/** A job sees the runs it started, people all of them. */
export function isTheirRun({ doc }: BookedRun, { jobId }: Pick<Caller, 'jobId'>): boolean {
  return jobId === undefined || doc.leave.parentId === jobId;
}

/** The run a caller means by an id, a unique beginning of one, or `@last`. */
export function findRun(store: Store, text: string): BookedRun {
  const [newest] = store.runs.newest<RunOrder>(1);
  if (text === '@last' && newest) return newest;
  const wanted = text.toUpperCase();
  const [found, another] = store.runs.idsByPrefix(wanted);
  if (found !== undefined && found !== wanted && another !== undefined) {
    throw new ReefError('ambiguous_id', `several runs begin with "${text}"`);
  }
  const run = found === undefined ? undefined : store.runs.get<RunOrder>(found);
  if (!run) throw new ReefError('run_not_found', `There is no run "${text}".`);
  return run;
}
