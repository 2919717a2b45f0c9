import type { JobStatus } from './jobs.ts';

/** Whether a job has ended. In a file of its own, so that commands need not load the schemas. */
export function isOver(status: JobStatus): boolean {
  return status === 'completed' || status === 'error' || status === 'killed' || status === 'stale';
}
