import type { Face } from '../../app/runtime/commands/command.ts';
import type { Cli } from '../cli/cli.ts';
import { jobTable } from '../cli/render/job-table.ts';
import { renderQuestion } from '../cli/render/question.ts';
import { jobsPlace } from './jobs-place.ts';

/** Jobs of the place around us, through its daemon. */
export function jobsFace(cli: Cli): NonNullable<Face['jobs']> {
  return {
    async list() {
      const { jobs } = await jobsPlace(cli).client.call('status', {});
      return jobs.length === 0 ? 'No jobs yet.' : jobTable(jobs, cli.style);
    },
    async inbox(answer) {
      const { client } = jobsPlace(cli);
      if (answer) {
        const sent = await client.call('send', answer);
        return `Sent to ${sent.agentId}`;
      }
      const { questions } = await client.call('inbox', {});
      return questions.length === 0
        ? 'Nobody asks anything.'
        : questions.map((question) => renderQuestion(question, cli.style)).join('\n\n');
    },
  };
}
