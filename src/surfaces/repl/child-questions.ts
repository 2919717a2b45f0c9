import { ReefError } from '../../protocol/errors.ts';
import type { Cli } from '../cli/cli.ts';
import { renderQuestion } from '../cli/render/question.ts';
import type { ChildQuestion } from '../host/root-job.ts';
import type { oneAtATime } from './one-at-a-time.ts';
import type { Person } from './person.ts';
import { headOf, putTo } from './put-to.ts';

type OnAsked = (question: ChildQuestion) => Promise<void>;

/** Nobody is there, and nobody is to be waited for. */
export const refuseQuestions: OnAsked = async ({ asked: { kind, question, options, tool, input }, chain }) => {
  throw new ReefError('needs_human', `A person has to answer ${chain.join(' › ')}: ${question}`, {
    details: {
      ...{ needs_human: true, action: kind, question, ...(options && { options }) },
      ...(tool !== undefined && { tool, arguments: input }),
    },
  });
};

/** Where nobody can type: how it is answered from elsewhere. */
export function tellQuestions(cli: Pick<Cli, 'style' | 'talk'>): OnAsked {
  return async ({ asked, chain }) => cli.talk(`${headOf(chain)}\n${renderQuestion(asked, cli.style)}`);
}

interface Here {
  cli: Pick<Cli, 'style'>;
  person: Person;
  inTurn: ReturnType<typeof oneAtATime>;
}

/** At the terminal, one after the other. */
export function askQuestions({ cli, person, inTurn }: Here): OnAsked {
  return async (question) => {
    const { settled, asked } = question;
    const show = async () => {
      if (!(await putTo({ cli, person }, question))) person.tell(`It waits: reef send ${asked.jobId}`);
    };
    await inTurn(show, settled).catch((error: unknown) => {
      if (!settled.aborted) throw error; // else it never had its turn
    });
  };
}
