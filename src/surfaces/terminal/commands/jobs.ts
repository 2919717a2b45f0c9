import { existsSync } from 'node:fs';
import { printable } from '../../../base/printable.ts';
import { errorRow } from '../../../protocol/error-table.ts';
import { type ErrorBody, ReefError } from '../../../protocol/errors.ts';
import { isOver } from '../../../protocol/is-over.ts';
import type { JobView } from '../../../protocol/job-operations.ts';
import type { OperationOutput } from '../../../protocol/operations.ts';
import type { Client } from '../../client/client.ts';
import { errorBody } from '../../client/request.ts';
import { renderError } from '../../render/error.ts';
import { jobDetails, jobTable } from '../../render/job.ts';
import { renderQuestion } from '../../render/question.ts';
import { runDetails } from '../../render/run.ts';
import { shellQuote } from '../../render/short-names.ts';
import { type Cli, type Command, operationCommand, textArgument } from '../cli.ts';
import { tellAway } from './daemon.ts';

export const status: Command<object> = async (cli, [id]) => {
  const client = cli.client();
  const result = await client.call('status', { id });
  const [run] = result.runs ?? [];
  if (run && !cli.json) {
    const { view } = await client.call('run_status', { id: run.runId });
    cli.out(runDetails(run, view, cli.style));
    return 0;
  }
  const [job] = result.jobs;
  if (!cli.json && !job) cli.talk('No jobs yet. Start one: reef spawn claude "fix the failing test"');
  else
    cli.print(result, () => (id !== undefined && job ? jobDetails(job, cli.style) : jobTable(result.jobs, cli.style)));
  if (!cli.remote && existsSync(cli.home().worker)) tellAway(cli, (await client.daemon())?.fleet);
  return 0;
};

/** The jobs of this repository, or of every one whose daemon runs. */
export const ps: Command<{ all?: true }> = async (cli, args, { all }) => {
  if (!all) return status(cli, args, {});
  const { everyClient } = await import('../../client/every-client.ts');
  const asked = (await everyClient(cli.env)).map(async ({ name, home, client }) => {
    const { jobs } = await client.call('status', {});
    return { repository: name, home, jobs };
  });
  const repositories = await Promise.all(asked);
  if (!cli.json && repositories.length === 0) cli.talk('No daemon runs. A command in a repository starts one: reef ps');
  else cli.print({ repositories }, () => repositories.map((each) => repositoryWords(each, cli)).join('\n\n'));
  return 0;
};

function repositoryWords({ repository, jobs }: { repository: string; jobs: JobView[] }, { style }: Cli): string {
  const head = style.paint('bold', printable(repository));
  return jobs.length === 0 ? `${head}  no jobs` : `${head}\n${jobTable(jobs, style)}`;
}

export const inbox: Command<{ whole?: string }> = async (cli, _, { whole }) => {
  const result = await cli.client().call('inbox', { whole });
  const questions = result.questions.map((question) => renderQuestion(question, cli.style));
  const notices = result.notices.map(
    ({ kind, message }) => `${cli.style.paint('yellow', kind)}  ${printable(message)}`,
  );
  if (!cli.json && questions.length === 0) cli.talk('No open questions.');
  if (cli.json || questions.length + notices.length > 0) {
    cli.print(result, () => [...questions, ...(notices.length > 0 ? [notices.join('\n')] : [])].join('\n\n'));
  }
  return 0;
};

/** Prints the command that joins the terminal of a headful job: `eval "$(reef attach ID)"`. */
export const attach: Command<object> = async (cli, [id = '']) => {
  const info = await cli.client().attach(id);
  cli.print(info, () => [info.file, ...info.args].map(shellQuote).join(' '));
  return 0;
};

export const interrupt = operationCommand(
  'interrupt',
  ([id = '']) => ({ id }),
  ({ agentId, status: now }) => `${agentId}  ${now}`,
);

export const resume: Command<object> = async (cli, [id = '', given]) => {
  const text = await textArgument(cli, given);
  const job = await cli.client().call('resume', { id, text });
  cli.print(job, () => `${job.agentId}  ${job.status}`);
  return 0;
};

type Killed = OperationOutput<'kill'> | ({ agentId: string } & ErrorBody);

export const kill: Command<{ all?: true }> = async (cli, args, { all }) => {
  const client = cli.client();
  if (args.length === 0 && !all) throw new ReefError('bad_request', 'Name the jobs to end, or use --all');
  if (args.length === 1 && !all) {
    const killed = await client.call('kill', { id: args[0] ?? '' });
    cli.print(killed, () => words(killed));
    return 0;
  }
  const ids = all ? await activeIds(client) : args;
  // If one cannot be killed, the others still are.
  const jobs = await Promise.all(ids.map((id) => killOne(client, id)));
  if (cli.json) cli.out(JSON.stringify({ jobs }));
  for (const job of cli.json ? [] : jobs) {
    if ('error' in job) cli.talk(`${printable(job.agentId)}  ${renderError(job, cli.style)}`);
    else cli.out(words(job));
  }
  const failed = jobs.find((job) => 'error' in job);
  return failed && 'error' in failed ? errorRow(failed.error.code).exit : 0;
};

async function activeIds(client: Client): Promise<string[]> {
  const { jobs } = await client.call('status', {});
  return jobs.filter(({ status }) => !isOver(status)).map(({ id }) => id);
}

async function killOne(client: Client, id: string): Promise<Killed> {
  try {
    return await client.call('kill', { id });
  } catch (error) {
    return { agentId: id, ...errorBody(error) };
  }
}

function words({ agentId, status, finalOutput }: OperationOutput<'kill'>): string {
  const head = `${agentId}  ${status}`;
  return finalOutput ? `${head}\n${printable(finalOutput)}` : head;
}
