import type { Face } from '../../app/runtime/commands/command.ts';
import { findRepository } from '../../base/home.ts';
import type { Cli } from '../cli/cli.ts';
import { jobTable } from '../cli/render/job-table.ts';
import { renderQuestion } from '../cli/render/question.ts';

/** Jobs of the repository around us, through its daemon; outside of one there are none. */
export function jobsFace(cli: Cli): Face['jobs'] {
  if (cli.env.reefHome === undefined && findRepository(cli.cwd) === undefined) return undefined;
  return {
    async list() {
      const { jobs } = await cli.client().call('status', {});
      return jobs.length === 0 ? 'No jobs yet.' : jobTable(jobs, cli.style);
    },
    async inbox(answer) {
      if (answer) {
        const sent = await cli.client().call('send', answer);
        return `Sent to ${sent.agentId}`;
      }
      const { questions } = await cli.client().call('inbox', {});
      return questions.length === 0
        ? 'Nobody asks anything.'
        : questions.map((question) => renderQuestion(question, cli.style)).join('\n\n');
    },
  };
}
