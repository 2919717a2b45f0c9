import { readEnvironment } from '../src/base/env.ts';
import { openClient } from '../src/surfaces/client/client.ts';

/** Reads jobs to their end, each as `reef output --follow` does, in a process of its own. */
const [, , readers = '', ...ids] = process.argv;
const client = openClient({ env: readEnvironment(), cwd: process.cwd(), surface: 'cli' });

async function follow(id: string): Promise<void> {
  let since = '0';
  for (let isOver = false; !isOver; ) {
    const page = await client.call('output', { id, since, limit: 1000, waitMs: 5_000 });
    since = page.nextCursor;
    isOver = page.events.length === 0 && page.status !== 'running' && page.status !== 'queued';
  }
}

await Promise.all(Array.from({ length: Number(readers) }, (_, n) => follow(ids[n % ids.length] ?? '')));
