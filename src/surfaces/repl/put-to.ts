import { printable } from '../../base/printable.ts';
import type { Cli } from '../cli/cli.ts';
import { renderQuestion } from '../cli/render/question.ts';
import { errorBody } from '../client/error-body.ts';
import type { ChildQuestion } from '../host/root-job.ts';
import { type Answer, answerOf, howTo } from './answer-of.ts';
import type { Person } from './person.ts';

interface Here {
  cli: Pick<Cli, 'style'>;
  person: Person;
}

/** Nobody waits for an answer any more. */
const SETTLED: ReadonlySet<string> = new Set([
  'already_answered',
  'question_withdrawn',
  'question_not_found',
  'run_not_halted',
  'job_ended',
]);

export const headOf = (chain: readonly string[]) => `${printable(chain.join(' › '))} asks:`;

/**
 * Asks the person here until there is an answer. The first one counts, wherever it is given; when that is elsewhere it is
 * told and the question taken back. False: nothing was typed, which leaves it to others.
 */
export async function putTo(here: Here, question: ChildQuestion): Promise<boolean> {
  const { person, cli } = here;
  const { asked, chain, settled } = question;
  const how = `${howTo(asked)}; nothing leaves it open`;
  const prompt = `${printable(chain.at(-1) ?? '')}? `;
  person.tell(`${headOf(chain)}\n${renderQuestion(asked, cli.style, [how])}`);
  try {
    for (;;) {
      const typed = await (asked.secret ? person.secret(prompt, settled) : person.question(prompt, settled));
      if (typed.trim() === '') return false;
      const answer = answerOf(asked, typed);
      if (!answer) person.tell(how);
      else if (await isTaken(here, question, answer)) return true;
    }
  } catch (error) {
    if (!settled.aborted) throw error;
    person.tell(`${printable(chain.join(' › '))} has its answer.`);
    return true;
  }
}

/** False: it is refused, and may be answered otherwise. */
async function isTaken({ person, cli }: Here, { send, settled }: ChildQuestion, answer: Answer): Promise<boolean> {
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
