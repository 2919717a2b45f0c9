import type { JobStatus } from './jobs.ts';

/** Nothing more comes of it by itself. Apart from the schemas, which no command waits for. */
export function isOver(status: JobStatus): boolean {
  return status === 'completed' || status === 'error' || status === 'killed' || status === 'stale';
}
