import type { OperationInput } from '../../../protocol/operations.ts';
import type { Client } from '../../client/client.ts';
import { homePruning } from '../../render/pruning.ts';
import { parseDuration } from '../../render/quantities.ts';
import { shortIds } from '../../render/short-names.ts';
import { renderEvent } from '../../render/timeline.ts';
import { usageTable } from '../../render/usage.ts';
import { type Command, operationCommand } from '../cli.ts';
import { LONGEST_CALL_MS } from './output.ts';

export const usage = operationCommand(
  'usage',
  (_args, { since, ...options }: OperationInput<'usage'>) => ({
    ...options,
    ...(since !== undefined && { since: timeOf(since) }),
  }),
  usageTable,
);

/** `7d` is seven days ago; anything else is a time. */
function timeOf(text: string): string {
  if (!/^\d{1,9}[smhd]$/.test(text)) return text;
  return new Date(Date.now() - parseDuration(text, '--since')).toISOString();
}

export const prune = operationCommand(
  'prune',
  (_args, { dryRun = false }: { dryRun?: boolean }) => ({ dryRun }),
  homePruning,
);

interface EventsOptions {
  since?: string;
  limit?: number;
  follow?: true;
}

export const events: Command<EventsOptions> = async (cli, _args, { since, limit, follow }) => {
  const client = cli.client();
  const first = since ?? (follow ? await newest(client) : undefined);
  for (let cursor = first, left = limit ?? Number.POSITIVE_INFINITY; left > 0; ) {
    const waitMs = follow ? LONGEST_CALL_MS : 0;
    const page = await client.call('events', { since: cursor, limit: Math.min(left, 200), waitMs });
    const { gap } = page;
    if (gap) cli.talk(`The events ${gap.from} to ${gap.to} are no longer kept.`);
    const short = shortIds(page.events.map(({ agentId }) => agentId));
    for (const event of page.events) {
      const words = () => `${short(event.agentId)}  ${renderEvent(event, undefined, cli.style)}`;
      cli.print(event, words);
    }
    left -= page.events.length;
    cursor = page.nextCursor;
    if (!follow && !page.truncated) break;
  }
  return 0;
};

async function newest(client: Client): Promise<string | undefined> {
  const daemon = await client.daemon();
  return daemon && String(daemon.lastSeq);
}
