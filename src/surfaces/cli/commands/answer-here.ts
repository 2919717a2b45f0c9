import { systemClock } from '../../../base/clock.ts';
import type { InboxEntry } from '../../../protocol/job-operations.ts';
import type { Client } from '../../client/client.ts';
import { linePerson } from '../../repl/line-person.ts';
import { putTo } from '../../repl/put-to.ts';
import type { Cli } from '../cli.ts';

const LOOK_MS = 200;

/** Asks the person at this terminal, until there is an answer from here or elsewhere. False: they leave it open. */
export async function answerHere(cli: Cli, client: Client, asked: InboxEntry): Promise<boolean> {
  const { jobId: id, questionId, fingerprint, block, agent } = asked;
  const over = new AbortController();
  const settling = new AbortController();
  untilGone(client, asked, over.signal).then(
    () => settling.abort(),
    () => {}, // answered here
  );
  try {
    return await putTo(
      { cli, person: linePerson(cli) },
      {
        ...{ asked, chain: [block ?? agent], settled: settling.signal },
        send: async (answer) => void (await client.call('send', { id, questionId, fingerprint, ...answer })),
      },
    );
  } finally {
    over.abort();
  }
}

async function untilGone(client: Client, { jobId, questionId }: InboxEntry, signal: AbortSignal): Promise<void> {
  for (;;) {
    await systemClock.sleep(LOOK_MS, signal);
    // A daemon that is away comes back.
    const inbox = await client.call('inbox', {}, { signal }).catch(() => undefined);
    const isThere = inbox?.questions.some((each) => each.jobId === jobId && each.questionId === questionId);
    if (isThere === false) return;
  }
}
