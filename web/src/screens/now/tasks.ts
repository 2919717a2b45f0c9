import { computed } from '@preact/signals';
import type { JobView } from '../../../../src/protocol/job-operations.ts';
import type { RunSummary } from '../../../../src/protocol/run-operations.ts';
import { jobs, runs } from '../../store/home.ts';

/** What one thinks of as one piece of work: a run with the jobs in its worktree, or a job that somebody started alone. */
export interface Task {
  id: string;
  run?: RunSummary;
  /** The job at work, or the newest one. */
  job?: JobView;
  /** Jobs below it, and earlier ones of its run. */
  others: number;
  place: Place;
}

export type Place = 'needs' | 'working' | 'waiting' | 'ended';

export const tasks = computed((): readonly Task[] => {
  const left = new Set(jobs.value);
  const ofRuns = runs.value.map((run): Task => {
    const own = [...left].filter(({ worktree }) => worktree !== undefined && worktree === run.worktree);
    for (const job of own) left.delete(job);
    const job = newest(own);
    return {
      id: run.runId,
      run,
      ...(job && { job }),
      others: Math.max(0, own.length - 1),
      place: placeOfRun(run, job),
    };
  });
  const roots = [...left].filter(({ parentId }) => ![...left].some(({ id }) => id === parentId));
  const alone = roots.map((root): Task => {
    const below = [...left].filter(({ rootId, id }) => rootId === root.rootId && id !== root.id);
    return { id: root.id, job: root, others: below.length, place: placeOfJob(root) };
  });
  return [...ofRuns, ...alone].toSorted((a, b) => startOf(b) - startOf(a));
});

const startOf = ({ run, job }: Task) => Date.parse(run?.createdAt ?? job?.createdAt ?? '');

function newest(own: readonly JobView[]): JobView | undefined {
  const live = own.filter(({ endedAt }) => endedAt === undefined);
  return (live.length > 0 ? live : own).toSorted((a, b) => Date.parse(b.createdAt) - Date.parse(a.createdAt))[0];
}

/** What was stopped from outside waits for that; what stopped by itself waits for a person. */
const WAITS_FOR_OTHERS: ReadonlySet<string> = new Set(['rate_limit', 'outage']);

function placeOfJob({ status, reason }: JobView): Place {
  if (status === 'awaiting_input') return 'needs';
  if (status === 'queued') return 'waiting';
  if (status === 'paused') return reason !== undefined && WAITS_FOR_OTHERS.has(reason) ? 'waiting' : 'needs';
  return status === 'running' ? 'working' : 'ended';
}

function placeOfRun(run: RunSummary, job: JobView | undefined): Place {
  if (run.status === 'queued') return 'waiting';
  if (run.status === 'halted' || run.status === 'awaiting_input') return 'needs';
  if (run.status === 'running') return job?.status === 'awaiting_input' ? 'needs' : 'working';
  // It is done, and somebody has to say what becomes of it; when its folder is gone, somebody has.
  const isToBeMerged = run.status === 'success' && run.merge !== 'merged' && run.path !== null;
  if (run.merge === 'waiting') return 'waiting';
  return isToBeMerged ? 'needs' : 'ended';
}
