import type { Command } from '../cli.ts';
import { textArgument } from './text-argument.ts';

export const interrupt: Command<object> = async (cli, [id = '']) => {
  const job = await cli.client().call('interrupt', { id });
  cli.print(job, () => `${job.agentId}  ${job.status}`);
  return 0;
};

export const resume: Command<object> = async (cli, [id = '', given]) => {
  const text = await textArgument(cli, given);
  const job = await cli.client().call('resume', { id, ...(text === undefined ? {} : { text }) });
  cli.print(job, () => `${job.agentId}  ${job.status}`);
  return 0;
};
