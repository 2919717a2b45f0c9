import type { JobView } from '../../../../src/protocol/job-operations.ts';
import type { RunSummary } from '../../../../src/protocol/run-operations.ts';
import type { Said } from '../../widgets/badge.tsx';

const ACTIVITIES: Record<JobView['activity'], Said> = {
  queued: { tone: 'waits', text: 'Queued' },
  starting: { tone: 'works', text: 'Starting' },
  working: { tone: 'works', text: 'Working' },
  retrying: { tone: 'waits', text: 'Retrying' },
  waiting: { tone: 'needs', text: 'Asks you' },
  idle: { tone: 'needs', text: 'Idle' },
  stalled: { tone: 'bad', text: 'Silent' },
  ending: { tone: 'calm', text: 'Ending' },
  ended: { tone: 'calm', text: 'Ended' },
};

const REASONS: Readonly<Record<string, Said>> = {
  idle: { tone: 'needs', text: 'Done with its turn' },
  interrupted: { tone: 'needs', text: 'Interrupted' },
  rate_limit: { tone: 'waits', text: 'Rate limit' },
  outage: { tone: 'waits', text: 'Provider is away' },
  turn_failed: { tone: 'bad', text: 'Turn failed' },
  budget: { tone: 'needs', text: 'Budget is used up' },
};

const ENDS: Readonly<Record<string, Said>> = {
  completed: { tone: 'good', text: 'Done' },
  error: { tone: 'bad', text: 'Failed' },
  killed: { tone: 'calm', text: 'Killed' },
  stale: { tone: 'bad', text: 'Lost' },
};

export function sayJob({ status, activity, reason }: JobView): Said {
  if (status === 'paused' && reason !== undefined) return REASONS[reason] ?? ACTIVITIES.idle;
  return ENDS[status] ?? ACTIVITIES[activity];
}

const RUNS: Record<RunSummary['status'], Said> = {
  queued: { tone: 'waits', text: 'Queued' },
  running: { tone: 'works', text: 'Working' },
  awaiting_input: { tone: 'needs', text: 'Asks you' },
  halted: { tone: 'needs', text: 'Halted' },
  success: { tone: 'good', text: 'Ready to merge' },
  failure: { tone: 'bad', text: 'Failed' },
  aborted: { tone: 'calm', text: 'Aborted' },
  broken: { tone: 'bad', text: 'Broken' },
};

export function sayRun(run: RunSummary): Said {
  if (run.merge === 'merged') return { tone: 'good', text: 'Merged' };
  if (run.merge === 'waiting') return { tone: 'waits', text: 'Merge waits' };
  if (run.status === 'success' && run.path === null) return { tone: 'calm', text: 'Put aside' };
  return RUNS[run.status];
}
