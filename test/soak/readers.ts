import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { World } from '../e2e/harness.ts';
import { stubbornly } from '../e2e/stubbornly.ts';
import { knock } from '../support/surfaces/door.ts';
import { openStream } from '../support/surfaces/event-stream.ts';

/** Who looks on: every event must come once, in order, whatever happens to the daemon. */
export interface Reader {
  name: string;
  events: number;
  /** Numbers that were left out, and numbers that came again. */
  lost: number;
  repeated: number;
}

const newReader = (name: string): Reader => ({ name, events: 0, lost: 0, repeated: 0 });

/** Takes note of one event after `last`, and returns the newest seen. */
function note(reader: Reader, seq: number, last: number): number {
  reader.events += 1;
  if (seq <= last) reader.repeated += 1;
  else reader.lost += seq - last - 1;
  return Math.max(seq, last);
}

/** Follows all events by cursor, as a program does over the socket. */
export function follow({ client }: World, name: string, signal: AbortSignal): { reader: Reader; over: Promise<void> } {
  const reader = newReader(name);
  const go = async () => {
    let last = 0;
    while (!signal.aborted) {
      const asked = { since: String(last), limit: 1_000, waitMs: 2_000 };
      // A refusal shows in the end, where this reader has not read all.
      const { events } = await stubbornly(() => client.call('events', asked)).catch(() => ({ events: [] }));
      for (const { seq } of events) last = note(reader, seq, last);
    }
  };
  return { reader, over: go() };
}

/** What an open page does: a stream of events that comes back by itself, and lists that are read again. */
export async function openPage(
  { client }: World,
  signal: AbortSignal,
): Promise<{ reader: Reader; over: Promise<void> }> {
  const { address = '', tokenFile } = await client.door({ do: 'open' });
  const port = Number(new URL(address).port);
  const token = readFileSync(tokenFile, 'utf8').trim();
  const reader = newReader('page');
  let last = 0;
  const stream = async () => {
    while (!signal.aborted) {
      const open = await openStream(port, { token, lastEventId: String(last) }).catch(() => undefined);
      if (!open) {
        await sleep(200);
        continue;
      }
      const stop = () => open.close();
      signal.addEventListener('abort', stop, { once: true });
      for await (const { event, id } of open.messages)
        if (event === 'job') last = note(reader, Number.parseInt(id ?? '', 10), last);
      signal.removeEventListener('abort', stop);
    }
  };
  const lists = async () => {
    while (!signal.aborted) {
      for (const path of ['/v1/jobs', '/v1/runs', '/v1/inbox', '/v1/worktrees']) {
        await knock(port, { path, token }).catch(() => undefined);
      }
      await sleep(2_000);
    }
  };
  return { reader, over: Promise.all([stream(), lists()]).then(() => undefined) };
}
