import { systemClock } from '../../../base/clock.ts';
import { printable } from '../../../base/printable.ts';
import type { Limiter } from '../../../base/serial.ts';
import { ReefError } from '../../../protocol/errors.ts';
import type { InboxEntry } from '../../../protocol/job-operations.ts';
import type { Client } from '../../client/client.ts';
import { errorBody } from '../../client/request.ts';
import type { ChildQuestion } from '../../native-agent/root-job.ts';
import { renderQuestion } from '../../render/question.ts';
import type { Cli } from '../cli.ts';
import { type Answer, answerOf, howTo } from './answer-of.ts';
import { linePerson } from './line-person.ts';
import type { Person } from './person.ts';

type OnAsked = (question: ChildQuestion) => Promise<void>;

/** For `--headless`: fails at once, because nobody is there to answer. */
export const refuseQuestions: OnAsked = async ({ asked: { kind, question, options, tool, input }, chain }) => {
  throw new ReefError('needs_human', `A person has to answer ${chain.join(' › ')}: ${question}`, {
    details: {
      needs_human: true,
      action: kind,
      question,
      ...(options && { options }),
      ...(tool !== undefined && { tool, arguments: input }),
    },
  });
};

/** Without a terminal: says how to answer from elsewhere. */
export function tellQuestions(cli: Pick<Cli, 'style' | 'talk'>): OnAsked {
  return async ({ asked, chain }) => cli.talk(`${headOf(chain)}\n${renderQuestion(asked, cli.style)}`);
}

interface Prompt {
  cli: Pick<Cli, 'style'>;
  person: Person;
}

/** Asks at the terminal, one question after the other. A question that was answered elsewhere meanwhile is not shown. */
export function askQuestions({ turns, ...prompt }: Prompt & { turns: Limiter }): OnAsked {
  return (question) =>
    turns.run(async () => {
      if (question.settled.aborted || (await askUntilAnswered(prompt, question))) return;
      prompt.person.tell(`The question stays open. To answer it later: reef send ${question.asked.jobId}`);
    });
}

const LOOK_MS = 200;

/** Asks one question of the inbox. False: the person leaves it open. */
export async function answerHere(cli: Cli, client: Client, asked: InboxEntry): Promise<boolean> {
  const { jobId: id, questionId, fingerprint, block, agent } = asked;
  const over = new AbortController();
  const settling = new AbortController();
  untilGone(client, asked, over.signal).then(
    () => settling.abort(),
    () => {}, // answered here
  );
  try {
    return await askUntilAnswered(
      { cli, person: linePerson(cli) },
      {
        asked,
        chain: [block ?? agent],
        settled: settling.signal,
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
    // A daemon that is gone will come back.
    const inbox = await client.call('inbox', {}, { signal }).catch(() => undefined);
    const isThere = inbox?.questions.some((each) => each.jobId === jobId && each.questionId === questionId);
    if (isThere === false) return;
  }
}

/** Errors which say that nobody waits for this answer any more. */
const SETTLED: ReadonlySet<string> = new Set([
  'already_answered',
  'question_withdrawn',
  'question_not_found',
  'run_not_halted',
  'job_ended',
]);

const headOf = (chain: readonly string[]) => `${printable(chain.join(' › '))} asks:`;

/** Asks until there is an answer, here or elsewhere. False: nothing was typed, and the question stays open. */
async function askUntilAnswered(prompt: Prompt, question: ChildQuestion): Promise<boolean> {
  const { person, cli } = prompt;
  const { asked, chain, settled } = question;
  const how = `${howTo(asked)}; an empty line leaves it open`;
  const label = `${printable(chain.at(-1) ?? '')}? `;
  person.tell(`${headOf(chain)}\n${renderQuestion(asked, cli.style, [how])}`);
  try {
    for (;;) {
      const typed = await (asked.secret ? person.secret(label, settled) : person.question(label, settled));
      if (typed.trim() === '') return false;
      const answer = answerOf(asked, typed);
      if (!answer) person.tell(how);
      else if (await isTaken(prompt, question, answer)) return true;
    }
  } catch (error) {
    if (!settled.aborted) throw error;
    person.tell(`${printable(chain.join(' › '))} has been answered.`);
    return true;
  }
}

/** False: the answer was refused, and another one may be given. */
async function isTaken({ person, cli }: Prompt, { send, settled }: ChildQuestion, answer: Answer): Promise<boolean> {
  try {
    await send(answer);
    return true;
  } catch (error) {
    settled.throwIfAborted();
    const { code, message } = errorBody(error).error;
    const isSettled = SETTLED.has(code);
    person.tell(isSettled ? printable(message) : `${cli.style.paint('red', 'error')}: ${printable(message)}`);
    return isSettled;
  }
}
