import type { JobStatus } from './jobs.ts';

/** Ended: nothing more happens by itself. In a file of its own, so that commands need not load the schemas. */
export function isOver(status: JobStatus): boolean {
  return status === 'completed' || status === 'error' || status === 'killed' || status === 'stale';
}
