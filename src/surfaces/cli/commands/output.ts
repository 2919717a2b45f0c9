import { ReefError } from '../../../protocol/errors.ts';
import type { Cli, Command } from '../cli.ts';
import { printEvents, readPages, untilOver, untilRead } from './follow.ts';

export interface OutputOptions {
  since?: string;
  limit?: number;
  follow?: true;
  raw?: true;
}

export const output: Command<OutputOptions> = async (cli, [id = ''], options) => {
  if (options.raw) return raw(cli, id, options);
  const { since, limit, follow } = options;
  const client = cli.client();
  if (follow) {
    await printEvents(cli, readPages(client, { id, since, limit, isEnough: untilOver }));
    return 0;
  }
  if (!cli.json && limit === undefined) {
    const last = await printEvents(cli, readPages(client, { id, since, isEnough: untilRead }));
    if (last) cli.talk(`${last.status}; read on with --since ${last.nextCursor}`);
    return 0;
  }
  const page = await client.call('output', {
    id,
    ...(since === undefined ? {} : { since }),
    ...(limit === undefined ? {} : { limit }),
  });
  if (cli.json) cli.out(JSON.stringify(page));
  else await printEvents(cli, once(page));
  if (!cli.json && page.truncated) cli.talk(`There is more: read on with --since ${page.nextCursor}`);
  return 0;
};

async function* once<T>(page: T): AsyncGenerator<T> {
  yield page;
}

async function raw(cli: Cli, id: string, { since, limit, follow }: OutputOptions): Promise<number> {
  if (since !== undefined || limit !== undefined || follow || cli.json) {
    throw new ReefError('bad_request', '--raw: prints the files of the agent as they are, without other options');
  }
  const { jobs } = await cli.client().call('status', { id });
  const { printRaw } = await import('./raw-output.ts');
  await printRaw(cli, jobs[0]?.id ?? id);
  return 0;
}
