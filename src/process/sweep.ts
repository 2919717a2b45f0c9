import { setTimeout as sleep } from 'node:timers/promises';
import { identityOf, type ProcessIdentity, signal } from './identity.ts';
import { processRows, tagOf } from './process-table.ts';

export interface Tagged {
  tag: string;
  identity: ProcessIdentity;
}

export interface Swept {
  reaped: ProcessIdentity[];
  left: ProcessIdentity[];
}

const ROUNDS = 100;
const ROUND_MS = 20;

/** Every living process with a tag, of any home: sweep only tags of your own records. */
export async function tagged(): Promise<Tagged[]> {
  const found: Tagged[] = [];
  for (const row of processRows()) {
    if (!row.isAlive || row.pid === process.pid) continue;
    const tag = await tagOf(row.pid);
    if (tag) found.push({ tag, identity: identityOf(row) });
  }
  return found;
}

/** Kills everything that carries `tag`, in rounds, because the dying may have forked. */
export async function sweep(tag: string): Promise<Swept> {
  const reaped = new Map<string, ProcessIdentity>();
  for (let round = 0; round < ROUNDS; round += 1) {
    const carriers = await carriersOf(tag);
    if (carriers.length === 0) break;
    for (const each of carriers) {
      if (signal(each, 'SIGKILL')) reaped.set(`${each.pid} ${each.startTime}`, each);
    }
    await sleep(ROUND_MS);
  }
  return { reaped: [...reaped.values()], left: await carriersOf(tag) };
}

async function carriersOf(tag: string): Promise<ProcessIdentity[]> {
  return (await tagged()).filter((each) => each.tag === tag).map((each) => each.identity);
}
