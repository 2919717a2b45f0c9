import type { Client } from '../../client/client.ts';
import { attemptTable } from '../../render/attempts.ts';
import type { Cli, Command } from '../cli.ts';
import { worst } from './exit-codes.ts';
import { LONGEST_CALL_MS } from './output.ts';
import { absoluteScript } from './spawn.ts';
import { waitFor } from './wait.ts';

/** `reef compare ID`: any of the runs names the task. */
export const compareAttempts: Command<{ review?: string }> = async (cli, [id = ''], { review }) => {
  const client = cli.client();
  const agent = review && absoluteScript(review, cli.cwd);
  const reviewedId = agent ? await reviewed(cli, client, { id, agent }) : id;
  if (reviewedId === undefined) return 1;
  await showAttempts(cli, client, reviewedId);
  return 0;
};

/** Waits for the reviewer; undefined if it did not come to an end. The newest task is the review then, so the id is a new one. */
async function reviewed(cli: Cli, client: Client, asked: { id: string; agent: string }): Promise<string | undefined> {
  const { jobId, runId } = await client.call('run_review', asked);
  const { jobs } = await waitFor(client, { ids: [jobId], until: ['done', 'needs_input'] });
  if (jobs.every(({ status }) => status === 'completed')) return runId;
  cli.talk(`The review did not end. See why: reef output ${jobId}`);
  return undefined;
}

async function showAttempts(cli: Cli, client: Client, id: string): Promise<string[]> {
  const compared = await client.call('run_compare', { id });
  cli.print(compared, () => attemptTable(compared, cli.style));
  return compared.attempts.map(({ status }) => status);
}

/** Waits until every agent is done or asks, tells of each as it comes, and shows them side by side. */
export async function followAttempts(cli: Cli, client: Client, ids: readonly string[]): Promise<number> {
  const waits = ids.map(async (id) => {
    for (;;) {
      const { runs } = await client.call('run_status', { id, waitMs: LONGEST_CALL_MS });
      const [run] = runs;
      if (!run || run.status === 'running' || (run.status === 'queued' && !run.behind)) continue;
      if (!cli.json) cli.talk(`${run.agent}: ${run.status}${run.because ? `: ${run.because}` : ''}`);
      return;
    }
  });
  await Promise.all(waits);
  const states = await showAttempts(cli, client, ids[0] ?? '');
  if (states.includes('success')) return 0;
  return worst(states.map((status) => (status === 'halted' || status === 'awaiting_input' ? 3 : 1)));
}
