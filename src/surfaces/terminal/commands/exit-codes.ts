import type { JobView } from '../../../protocol/job-operations.ts';
import type { RunSummary } from '../../../protocol/run-operations.ts';

/** The exit code that tells a script how the job stands. */
export function exitCodeOf({ status, reason }: Pick<JobView, 'status' | 'reason'>): number {
  if (status === 'completed') return 0;
  if (status === 'awaiting_input') return 3;
  if (status === 'paused' && (reason === 'idle' || reason === 'interrupted')) return 0;
  const isOverBudget = status === 'paused' ? reason === 'budget' : status === 'error' && reason === 'budget_exhausted';
  return isOverBudget ? 5 : 1;
}

/** A question goes before a failure, because it can still be answered. */
export function worst(codes: readonly number[]): number {
  if (codes.includes(3)) return 3;
  return codes.find((code) => code !== 0) ?? 0;
}

export function exitCodeOfRun({ status, merge, behind }: RunSummary): number {
  if (behind || status === 'halted' || status === 'awaiting_input' || merge === 'waiting') return 3;
  if (merge === 'not_merged') return 1;
  return status === 'success' || status === 'queued' || status === 'running' ? 0 : 1;
}
