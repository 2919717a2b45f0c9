import { timeOfDay } from '../base/time-of-day.ts';
import type { JobView } from '../protocol/job-operations.ts';
import type { OperationOutput } from '../protocol/operations.ts';
import type { Store } from '../store/store.ts';
import { titleOf } from '../worktrees/queue.ts';

type Notice = OperationOutput<'inbox'>['notices'][number];

/** What ended longer ago is history. */
const NEW_MS = 24 * 3_600_000;
const LOOK_BACK = 8;

/**
 * Jobs that have stopped although nobody wanted that: by a limit, an outage, a failed turn, a missing log-in, or with a machine that
 * stopped. Each with what happens next. Those of blocks are shown as their runs.
 */
export function restingJobs(store: Store, jobs: readonly JobView[], now: Date): Notice[] {
  return jobs.flatMap((job) => {
    const since = job.endedAt ?? job.createdAt;
    const why = store.blocks.get(job.id) ? undefined : whyItRests(store, job, now);
    if (why === undefined || now.getTime() - Date.parse(since) > NEW_MS) return [];
    const { id, agent, task, worktree } = job;
    const kind = job.status === 'paused' ? 'paused' : 'stopped';
    const message = `${agent}, "${titleOf(task)}": ${why}`;
    return [{ at: since, kind, jobId: id, ...(worktree !== undefined && { worktreeId: worktree }), message }];
  });
}

function whyItRests(store: Store, { id, status, reason, goesOnAt }: JobView, now: Date): string | undefined {
  const resume = `reef resume ${id}`;
  if (status === 'stale') return `it was lost, as when the machine stops. Go on: ${resume}`;
  if (status === 'error')
    return endedWith(store, id) === 'agent_not_logged_in' ? `it is not logged in. Log in, then: ${resume}` : undefined;
  if (status !== 'paused') return undefined;
  if (goesOnAt !== undefined)
    return `${PAUSED[reason ?? ''] ?? 'paused'}; it goes on by itself at ${timeOfDay(new Date(goesOnAt), now)}. Now: ${resume}`;
  const said = PAUSED[reason ?? ''];
  return said && `${said}, and nobody knows for how long. Go on: ${resume}`;
}

const PAUSED: Readonly<Record<string, string>> = {
  rate_limit: 'paused by a limit of its provider',
  outage: 'paused, because its provider does not answer',
  turn_failed: 'paused, because its last turn failed',
};

function endedWith(store: Store, id: string): string | undefined {
  const last = store.events.tail(id, LOOK_BACK).findLast((event) => event.type === 'error');
  return last?.payload.code;
}
