import type { Client } from '../../client/client.ts';
import { attemptTable } from '../../render/attempts.ts';
import type { Cli, Command } from '../cli.ts';
import { worst } from './exit-codes.ts';
import { LONGEST_CALL_MS } from './output.ts';

/** `reef compare ID`: any of the runs names the task. */
export const compareAttempts: Command<object> = async (cli, [id = '']) => {
  await showAttempts(cli, cli.client(), id);
  return 0;
};

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
