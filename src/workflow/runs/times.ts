import type { RunSummary } from '../../protocol/run-operations.ts';
import type { RunView } from '../../protocol/workflow.ts';

export type RunTimes = NonNullable<RunSummary['times']>;

interface Span {
  createdAt: string;
  endedAt: string;
  /** Of the worktree, before the run began. */
  setUp: number;
}

/** Where the seconds of a run went that has ended. */
export function timesOf({ executionLog }: Pick<RunView, 'executionLog'>, span: Span): RunTimes {
  const times = { setUp: span.setUp, agents: 0, gates: 0 };
  for (const { jobId, spent, took } of Object.values(executionLog)) {
    if (jobId !== undefined) times.agents += spent?.seconds ?? 0;
    times.setUp += took?.setUp ?? 0;
    times.gates += took?.gate ?? 0;
  }
  const all = (Date.parse(span.endedAt) - Date.parse(span.createdAt)) / 1_000;
  // Branches work side by side, and their seconds add up to more than have passed.
  const rest = Math.max(0, all - times.setUp - times.agents - times.gates);
  return {
    setUp: rounded(times.setUp),
    agents: rounded(times.agents),
    gates: rounded(times.gates),
    rest: rounded(rest),
  };
}

const rounded = (seconds: number) => Math.round(seconds * 1_000) / 1_000;
