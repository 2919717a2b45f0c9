import { once } from 'node:events';
import { printable } from '../../../base/printable.ts';
import type { OperationOutput } from '../../../protocol/operations.ts';
import type { Client } from '../../client/client.ts';
import type { Cli } from '../cli.ts';

export interface RawOptions {
  stream?: 'out' | 'err';
  launch?: number;
  from?: number;
  bytes?: number;
}

const CHUNK = 262_144;

/**
 * Prints what the agent itself wrote, launch by launch, without secrets: every byte of it, or a range of one stream. A terminal
 * gets no control characters.
 */
export async function printRaw(cli: Cli, id: string, { stream, launch, from, bytes }: RawOptions): Promise<number> {
  const client = cli.client();
  const first = { id, stream: stream ?? 'out', launch, from: from ?? 0, bytes: Math.min(bytes ?? CHUNK, CHUNK) };
  if (cli.json) {
    cli.out(JSON.stringify(await client.call('job_log', first)));
    return 0;
  }
  const { agentId, launches, launch: newest } = await client.call('job_log', { ...first, bytes: 1 });
  const isRange = from !== undefined || bytes !== undefined;
  const streams = stream === undefined && !isRange ? (['out', 'err'] as const) : [first.stream];
  for (const each of launch === undefined && !isRange ? launches : [newest]) {
    for (const name of streams) {
      await printStream(cli, client, { id: agentId, stream: name, launch: each, from: first.from, left: bytes });
    }
  }
  return 0;
}

interface Reading {
  id: string;
  stream: 'out' | 'err';
  launch: number;
  from: number;
  left: number | undefined;
}

async function printStream(
  cli: Cli,
  client: Client,
  { left = Number.POSITIVE_INFINITY, ...reading }: Reading,
): Promise<void> {
  const end = reading.from + left;
  for (let { from } = reading; from < end; ) {
    const page = await client.call('job_log', { ...reading, from, bytes: Math.min(CHUNK, end - from) });
    await write(cli, page);
    if (page.next >= page.size) return;
    from = page.next;
  }
}

/** Waits until it is taken: a pipe may be slower than the file. */
async function write({ host }: Cli, { text, encoding }: OperationOutput<'job_log'>): Promise<void> {
  const bytes = Buffer.from(text, encoding);
  const shown = host.stdout.isTTY ? printable(bytes.toString('utf8')) : bytes;
  if (!host.stdout.write(shown)) await once(host.stdout, 'drain');
}
