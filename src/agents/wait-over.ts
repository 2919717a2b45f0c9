import type { JobView } from '../protocol/job-operations.ts';
import type { OperationRequest } from '../protocol/operations.ts';
import { isLive } from './job-status.ts';

type Until = OperationRequest<'wait'>['until'];

/** A job that does nothing more unless somebody acts, and why. */
export interface Resting {
  job: JobView;
  why: string;
}

/** One job that asks ends the wait; "done" and "idle" have to hold for all of them. */
export function isWaitOver(jobs: readonly JobView[], until: Until): boolean {
  if (until.includes('needs_input') && jobs.some((job) => job.awaiting_input)) return true;
  return isForRest(until) && jobs.every((job) => isAtRest(job, until));
}

function isForRest(until: Until): boolean {
  return until.includes('done') || until.includes('idle');
}

function isAtRest({ status }: JobView, until: Until): boolean {
  return isForRest(until) && (!isLive(status) || (status === 'paused' && until.includes('idle')));
}

const MOST_NAMED = 3;

/** Why a wait that is not over never will be unless somebody acts. Undefined: it may still be. */
export function whyNever(jobs: readonly JobView[], resting: readonly Resting[], until: Until): string | undefined {
  if (isWaitOver(jobs, until)) return undefined;
  if (jobs.length === 0) return 'No job is active.';
  if (until.includes('needs_input') && resting.length < jobs.length) return undefined;
  const inTheWay = resting.filter(({ job }) => !isAtRest(job, until));
  if (inTheWay.length === 0) return undefined;
  const rest = inTheWay.length > MOST_NAMED ? [`${inTheWay.length - MOST_NAMED} more are at rest.`] : [];
  return [...inTheWay.slice(0, MOST_NAMED).map(({ why }) => why), ...rest].join(' ');
}

/** Of a job that has ended or is paused. */
export function restsBecause({ id, status, reason }: JobView): string {
  if (status !== 'paused') return `Job ${id} has ended (${status}).`;
  if (reason === 'idle') return `Job ${id} is idle: its turn is over, and it is kept for another message.`;
  return `Job ${id} is paused${reason === undefined ? '' : ` (${reason})`} until it is resumed.`;
}
