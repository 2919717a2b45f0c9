import { systemClock } from '../../../base/clock.ts';
import { findOnPath } from '../../../base/programs.ts';
import type { InboxEntry } from '../../../protocol/job-operations.ts';
import type { Client } from '../../client/client.ts';
import type { Cli } from '../cli.ts';
import { askLine } from '../prompt/line-person.ts';
import type { Throwaway } from './throwaway.ts';

const POLL_MS = 200;
/** Nobody looks at a page for longer and leaves the terminal as it is. */
const LONGEST_LOOK_MS = 30 * 60_000;

/** The address that logs a browser in, once. */
export async function pageAddress(client: Client): Promise<string> {
  const { address, code } = await client.door({ do: 'login' });
  return `${address}/#code=${code}`;
}

/** Resolves when the question is no longer open: somebody has answered it on the page. */
export async function answeredOnPage(client: Client, asked: InboxEntry, over: AbortSignal): Promise<undefined> {
  while (!over.aborted) {
    const { questions } = await client.call('inbox', {});
    if (!questions.some(({ questionId }) => questionId === asked.questionId)) break;
    await systemClock.sleep(POLL_MS);
  }
  return undefined;
}

/** At a terminal the page stays until a key is pressed; without one, nobody would ever press it. */
export async function lookAgain(cli: Cli, client: Client, { root, repository }: Throwaway): Promise<void> {
  const reef = findOnPath('reef', cli.env.path) ? 'reef' : cli.host.argv[1];
  const command = `cd ${repository} && XDG_STATE_HOME=${root}/state ${reef} open`;
  cli.out(`\nTo look at all of it again:\n  ${command}`);
  if (!cli.isInteractive) return;
  cli.out(`\nThe page is still there, for one more browser within a minute:\n  ${await pageAddress(client)}`);
  const patience = AbortSignal.timeout(LONGEST_LOOK_MS);
  await askLine(cli, 'Enter ends the demo: ', { signal: patience }).catch((error: unknown) => {
    if (!patience.aborted) throw error;
  });
}
