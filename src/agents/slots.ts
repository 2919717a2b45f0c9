import type { Job } from '../protocol/jobs.ts';

/**
 * Who may start next. Children go before roots, then first come first served; paused jobs hold no slot, and a parent
 * that waits for its children lends them its own, so a family cannot starve itself.
 */
export function nextToStart(state: {
  queued: Job[];
  /** Jobs with a process that works or waits for an answer. */
  busy: Job[];
  lending: ReadonlySet<string>;
  maxJobs: number;
}): Job[] {
  const held = state.busy.filter((job) => !state.lending.has(job.id)).length;
  const free = Math.max(0, state.maxJobs - held);
  const byTurn = [...state.queued].sort((a, b) => Number(b.depth > 0) - Number(a.depth > 0) || compare(a.id, b.id));
  return byTurn.slice(0, free);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
