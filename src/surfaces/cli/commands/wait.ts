import { ReefError } from '../../../protocol/errors.ts';
import type { OperationOutput } from '../../../protocol/operations.ts';
import type { Cli, Command } from '../cli.ts';
import { jobTable } from '../render/job-table.ts';
import { parseDuration } from '../render/quantities.ts';
import { renderQuestion } from '../render/question.ts';
import { exitCodeOfAll } from './exit-code.ts';
import { waitFor } from './wait-for.ts';

export interface WaitOptions {
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
  // Whoever named the condition got what they asked for; else the state of the jobs is the answer.
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
