import { printable } from '../../base/printable.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Decision } from '../../protocol/jobs.ts';
import type { Cli } from '../cli/cli.ts';
import { renderQuestion } from '../cli/render/question.ts';
import { errorBody } from '../client/error-body.ts';
import type { ChildQuestion } from '../host/root-job.ts';
import type { oneAtATime } from './one-at-a-time.ts';
import type { Person } from './person.ts';

type OnAsked = (question: ChildQuestion) => Promise<void>;

/** Nobody is there, and nobody is to be waited for (R-102). */
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

/** At the terminal, one after the other. The first answer counts, wherever it is given; nothing typed leaves it to others. */
export function askQuestions({ cli, person, inTurn }: Here): OnAsked {
  return async (question) => {
    const { settled } = question;
    let isShown = false;
    const show = () => {
      isShown = true;
      return putTo(person, cli, question);
    };
    try {
      await inTurn(show, settled);
    } catch (error) {
      if (!settled.aborted) throw error;
      if (isShown) person.tell(`${printable(question.chain.join(' › '))} has its answer.`);
    }
  };
}

const headOf = (chain: readonly string[]) => `${printable(chain.join(' › '))} asks:`;

async function putTo(person: Person, cli: Here['cli'], { asked, chain, settled, send }: ChildQuestion): Promise<void> {
  const isPermission = asked.kind === 'permission';
  const how = isPermission ? 'y once, s for this session, a always, n no' : howTo(asked);
  person.tell(`${headOf(chain)}\n${renderQuestion(asked, cli.style, [`${how}; nothing leaves it open`])}`);
  for (;;) {
    const read = asked.secret
      ? (text: string) => person.secret(text, settled)
      : (text: string) => person.question(text, settled);
    const typed = (await read(`${printable(chain.at(-1) ?? '')}? `)).trim();
    if (typed === '') return person.tell(`It waits: reef send ${asked.jobId}`);
    const answer = isPermission
      ? { decision: DECISIONS[typed.toLowerCase()] ?? ('deny' as const) }
      : toAnswer(asked, typed);
    try {
      return await send(answer);
    } catch (error) {
      settled.throwIfAborted();
      person.tell(`${cli.style.paint('red', 'error')}: ${printable(errorBody(error).error.message)}`);
    }
  }
}

const DECISIONS: Readonly<Record<string, Decision>> = { y: 'allow_once', s: 'allow_session', a: 'allow_always' };

type Asked = ChildQuestion['asked'];

const optionsOf = ({ options = [] }: Asked) => options;

function howTo(asked: Asked): string {
  if (optionsOf(asked).length === 0) return 'your answer';
  const numbers = asked.multi ? 'numbers, with commas' : 'a number';
  return asked.freeText ? `${numbers}, or your own words` : numbers;
}

/** Numbers choose; other words are an answer of one's own. */
function toAnswer(asked: Asked, typed: string): Parameters<ChildQuestion['send']>[0] {
  const isByNumber = optionsOf(asked).length > 0 && /^\d+(\s*,\s*\d+)*$/.test(typed);
  return isByNumber ? { option: typed.split(',').map(Number) } : { text: typed };
}
