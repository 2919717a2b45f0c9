import { printable } from '../../../base/printable.ts';
import { type ErrorBody, errorRow, ReefError } from '../../../protocol/errors.ts';
import { isOver } from '../../../protocol/is-over.ts';
import type { OperationOutput } from '../../../protocol/operations.ts';
import type { Client } from '../../client/client.ts';
import { errorBody } from '../../client/error-body.ts';
import type { Command } from '../cli.ts';
import { renderError } from '../render/error.ts';

export interface KillOptions {
  all?: true;
}

type Killed = OperationOutput<'kill'> | ({ agentId: string } & ErrorBody);

export const kill: Command<KillOptions> = async (cli, args, { all }) => {
  const client = cli.client();
  if (args.length === 0 && !all) throw new ReefError('bad_request', 'Name the jobs to end, or --all');
  if (args.length === 1 && !all) {
    const killed = await client.call('kill', { id: args[0] ?? '' });
    cli.print(killed, () => words(killed));
    return 0;
  }
  const ids = all ? await activeIds(client) : args;
  // One refusal must not spare the others.
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
