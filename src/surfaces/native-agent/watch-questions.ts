import type { Clock } from '../../base/clock.ts';
import type { InboxEntry } from '../../protocol/job-operations.ts';
import type { Client } from '../client/client.ts';

const LOOK_MS = 200;

interface Watch {
  client: Client;
  clock: Clock;
  /** Whose descendants are meant. */
  rootId: string;
  /** Told once of every question; the signal says that somebody else has settled it. */
  onAsked(asked: InboxEntry, settled: AbortSignal): void;
  signal: AbortSignal;
}

/** What is asked below a root, as it comes into the one inbox and as it leaves it. */
export async function watchQuestions({ client, clock, rootId, onAsked, signal }: Watch): Promise<void> {
  const open = new Map<string, AbortController>();
  while (!signal.aborted) {
    const asked = await askedBelow(client, rootId, signal);
    const now = new Map(asked?.map((entry) => [`${entry.jobId} ${entry.questionId}`, entry]));
    for (const [name, settled] of asked ? open : []) {
      if (now.has(name)) continue;
      open.delete(name);
      settled.abort();
    }
    for (const [name, entry] of now) {
      if (open.has(name)) continue;
      const settled = new AbortController();
      open.set(name, settled);
      onAsked(entry, settled.signal);
    }
    await clock.sleep(LOOK_MS, signal).catch(() => {}); // the loop ends
  }
  for (const settled of open.values()) settled.abort();
}

/** Undefined while the daemon is away: it comes back by the next call. */
async function askedBelow(client: Client, rootId: string, signal: AbortSignal): Promise<InboxEntry[] | undefined> {
  try {
    const { questions } = await client.call('inbox', {}, { signal });
    return questions.filter(({ path, jobId }) => path.includes(rootId) && jobId !== rootId);
  } catch {
    return undefined;
  }
}
