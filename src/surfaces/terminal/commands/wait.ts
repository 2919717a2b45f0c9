import { systemClock } from '../../../base/clock.ts';
import { ReefError } from '../../../protocol/errors.ts';
import type { JobView } from '../../../protocol/job-operations.ts';
import type { OperationInput, OperationOutput } from '../../../protocol/operations.ts';
import type { Client } from '../../client/client.ts';
import { jobTable } from '../../render/job.ts';
import { parseDuration } from '../../render/quantities.ts';
import { renderQuestion } from '../../render/question.ts';
import type { Cli, Command } from '../cli.ts';

interface WaitOptions {
  until?: string;
  timeout?: string;
}

const CONDITIONS = ['needs_input', 'done', 'idle'] as const;
type Condition = (typeof CONDITIONS)[number];

export const wait: Command<WaitOptions> = async (cli, ids, { until, timeout }) => {
  const result = await waitFor(cli.client(), {
    ids,
    ...(until === undefined ? {} : { until: conditions(until) }),
    timeoutMs: timeout === undefined ? undefined : parseDuration(timeout, '--timeout'),
  });
  cli.print(result, () => words(cli, result));
  if (!result.met) {
    if (!cli.json) cli.talk('The time was up first.');
    return 1;
  }
  // Who named a condition got what they asked for; otherwise the state of the jobs is the answer.
  return until === undefined ? exitCodeOfAll(result.jobs) : 0;
};

function conditions(until: string): Condition[] {
  return until.split(',').map((word) => {
    const condition = CONDITIONS.find((each) => each === word.trim());
    if (!condition) throw new ReefError('bad_request', `--until: "${word}" is none of ${CONDITIONS.join(', ')}`);
    return condition;
  });
}

function words({ style }: Cli, { jobs }: OperationOutput<'wait'>): string {
  const questions = jobs.flatMap((job) =>
    job.questions.map((question) =>
      renderQuestion({ ...question, jobId: job.id, agent: job.agent, task: job.task, cwd: job.cwd }, style),
    ),
  );
  return [jobTable(jobs, style), ...questions].join('\n\n');
}

const LONGEST_CALL_MS = 45_000;

interface Wanted extends Pick<OperationInput<'wait'>, 'ids' | 'until'> {
  /** Absent: for as long as it takes. */
  timeoutMs?: number | undefined;
}

/** Waits for any time, by calls that each stay below the longest time of a call. */
export async function waitFor(
  client: Client,
  { timeoutMs = Number.POSITIVE_INFINITY, ...query }: Wanted,
): Promise<OperationOutput<'wait'>> {
  const started = systemClock.monotonicMs();
  for (let left = timeoutMs; ; left = timeoutMs - (systemClock.monotonicMs() - started)) {
    const callMs = Math.min(LONGEST_CALL_MS, Math.max(0, Math.round(left)));
    const result = await client.call('wait', { ...query, timeoutMs: callMs });
    if (result.met || left <= LONGEST_CALL_MS) return result;
  }
}

/** What the state of a job means to a script that waited for it. */
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

/** A question goes before a failure, because it can still be answered. */
export function exitCodeOfAll(jobs: readonly JobView[]): number {
  const codes = jobs.map(exitCodeOf);
  if (codes.includes(3)) return 3;
  return codes.find((code) => code !== 0) ?? 0;
}
