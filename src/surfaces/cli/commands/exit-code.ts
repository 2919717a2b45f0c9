import type { JobView } from '../../../protocol/job-operations.ts';

/** What the state of a job means to a script that waited for it (U-02). */
export function exitCodeOf({ status, reason }: Pick<JobView, 'status' | 'reason'>): number {
  switch (status) {
    case 'completed':
      return 0;
    case 'awaiting_input':
      return 3;
    case 'paused':
      return pausedCode(reason);
    case 'error':
      return reason === 'budget_exhausted' ? 5 : 1;
    case 'queued':
    case 'running':
    case 'killed':
    case 'stale':
      return 1;
  }
}

function pausedCode(reason: JobView['reason']): number {
  if (reason === 'idle' || reason === 'interrupted') return 0;
  return reason === 'budget' ? 5 : 1;
}

/** The most telling of several: a question before a failure, for it can still be mended. */
export function exitCodeOfAll(jobs: readonly JobView[]): number {
  const codes = jobs.map(exitCodeOf);
  if (codes.includes(3)) return 3;
  return codes.find((code) => code !== 0) ?? 0;
}
