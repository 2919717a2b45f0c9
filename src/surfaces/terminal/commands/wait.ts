import { systemClock } from '../../../base/clock.ts';
import { ReefError } from '../../../protocol/errors.ts';
import type { JobView } from '../../../protocol/job-operations.ts';
import type { OperationInput, OperationOutput } from '../../../protocol/operations.ts';
import type { Client } from '../../client/client.ts';
import { jobTable } from '../../render/job.ts';
import { nextLines } from '../../render/next-steps.ts';
import { parseDuration } from '../../render/quantities.ts';
import { questionsOf, renderQuestion } from '../../render/question.ts';
import { runOutcome } from '../../render/run.ts';
import type { Cli, Command } from '../cli.ts';
import { exitCodeOf, exitCodeOfRun, worst } from './exit-codes.ts';
import { LONGEST_CALL_MS } from './output.ts';

const CONDITIONS = ['needs_input', 'done', 'idle'] as const;
type Condition = (typeof CONDITIONS)[number];

export const wait: Command<{ until?: string; timeout?: string }> = async (cli, ids, { until, timeout }) => {
  const result = await waitFor(cli.client(), {
    ids,
    until: until === undefined ? undefined : conditions(until),
    timeoutMs: timeout === undefined ? undefined : parseDuration(timeout, '--timeout'),
  });
  cli.print(result, () => words(cli, result));
  const { met, because, jobs, runs = [] } = result;
  if (!met && !cli.json) cli.talk(because === undefined ? TIME_IS_UP : whyNever(because, jobs));
  if (!met && because === undefined) return 1;
  if (!met && jobs.some(isQueued)) return 3;
  // With --until, being here is the answer. Without it, the state of the jobs is.
  if (until === undefined) return worst([...jobs.map(exitCodeOf), ...runs.map(exitCodeOfRun)]);
  return met ? 0 : 1;
};

const TIME_IS_UP = 'The time is up, and none of it has happened yet.';
const isQueued = ({ status }: JobView) => status === 'queued';

/** The reason, and what to type. */
function whyNever(because: string, jobs: readonly JobView[]): string {
  const what = `${because}\nWhat you wait for cannot happen unless somebody acts.`;
  const behind = jobs.find((job) => job.behind);
  if (behind) return [what, ...nextLines('behind', behind.id, behind.behind)].join('\n');
  if (jobs.some(isQueued)) return `${what} See what the others ask: reef inbox`;
  const paused = jobs.find(({ status }) => status === 'paused');
  return paused
    ? `${what}\n  reef resume ${paused.id} "<text>"  go on with it\n  reef kill ${paused.id}  end it`
    : what;
}

function conditions(until: string): Condition[] {
  return until.split(',').map((word) => {
    const condition = CONDITIONS.find((each) => each === word.trim());
    if (!condition) throw new ReefError('bad_request', `--until: expected ${CONDITIONS.join(', ')}, not "${word}"`);
    return condition;
  });
}

function words({ style }: Cli, { jobs, runs = [] }: OperationOutput<'wait'>): string {
  const questions = jobs.flatMap(questionsOf).map((question) => renderQuestion(question, style));
  const tables = [...(jobs.length > 0 || runs.length === 0 ? [jobTable(jobs, style)] : [])];
  return [...tables, ...runs.map((run) => runOutcome(run, null, style)), ...questions].join('\n\n');
}

interface Wanted extends Pick<OperationInput<'wait'>, 'ids' | 'until'> {
  /** Absent: for as long as it takes. */
  timeoutMs?: number | undefined;
}

/** Waits for any length of time, by calls that are each short enough for the daemon. */
export async function waitFor(
  client: Client,
  { timeoutMs = Number.POSITIVE_INFINITY, ...query }: Wanted,
): Promise<OperationOutput<'wait'>> {
  const started = systemClock.monotonicMs();
  for (let left = timeoutMs; ; left = timeoutMs - (systemClock.monotonicMs() - started)) {
    const callMs = Math.min(LONGEST_CALL_MS, Math.max(0, Math.round(left)));
    const result = await client.call('wait', { ...query, timeoutMs: callMs });
    if (result.met || result.because !== undefined || left <= LONGEST_CALL_MS) return result;
  }
}
