import type { Command } from '../cli.ts';
import { jobDetails } from '../render/job-details.ts';
import { jobTable } from '../render/job-table.ts';

export const status: Command<object> = async (cli, [id]) => {
  const result = await cli.client().call('status', id === undefined ? {} : { id });
  const [job] = result.jobs;
  if (!cli.json && !job) cli.talk('No jobs yet. Start one: reef spawn claude "fix the failing test"');
  else
    cli.print(result, () => (id !== undefined && job ? jobDetails(job, cli.style) : jobTable(result.jobs, cli.style)));
  return 0;
};
