import type { Ending, JobRuntime } from '../job-runtime.ts';

/** Whether a terminal's turn is over nobody can tell: no rest, no question is waited for when the budget is used up. */
export function timeUp({ spent }: JobRuntime): Ending | undefined {
  if (!spent) return undefined;
  const message = `the budget of ${spent.limit} ${spent.what} is used up`;
  return { why: 'failure', fails: { code: 'budget_exhausted', message } };
}
