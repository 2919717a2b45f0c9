import type { Clock } from '../../base/clock.ts';
import type { InboxEntry } from '../../protocol/job-operations.ts';
import type { Client } from '../client/client.ts';

const LOOK_MS = 200;

interface Watch {
  client: Client;
  clock: Clock;
  rootId: string;
  /** Called once for every question. The signal is aborted when the question is settled. */
  onAsked(asked: InboxEntry, settled: AbortSignal): void;
  signal: AbortSignal;
}

/** Watches the inbox for questions of the agents below a root. */
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

/** Undefined while the daemon is away. */
async function askedBelow(client: Client, rootId: string, signal: AbortSignal): Promise<InboxEntry[] | undefined> {
  try {
    const { questions } = await client.call('inbox', {}, { signal });
    return questions.filter(({ path, jobId }) => path.includes(rootId) && jobId !== rootId);
  } catch {
    return undefined;
  }
}
