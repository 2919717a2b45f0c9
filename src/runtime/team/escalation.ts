import type { Clock } from '../../base/clock.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { EscalationPort } from '../state/scope.ts';
import type { Answer, AskFn, Question } from '../tools/tool.ts';
import type { Escalation } from './job-port.ts';

/** Carries an agent's questions to the one inbox, over the connection of its own job. */
export interface AskChannel {
  /** `id` names the question there. `withdraw` takes it back and says who answered. */
  open(question: Question, signal: AbortSignal): { id: string; answer: Promise<Answer>; withdraw(by: string): void };
}

interface Waiting extends Escalation {
  reply(text: string, by: string): void;
}

/** The open questions of all agents of one process. */
export class Escalations {
  readonly #waiting = new Map<string, Waiting>();

  /** The questions of a job and of all jobs below it. */
  below(jobId: string): Escalation[] {
    return [...this.#waiting.values()]
      .filter(({ path }) => path.includes(jobId))
      .map(({ reply: _, ...escalation }) => escalation);
  }

  /** Finds a question below a job by its id, or by the agent that asks if it asks only one. */
  find(name: string, jobId: string): Escalation | undefined {
    const open = this.below(jobId);
    const exact = open.find(({ id }) => id === name);
    const [only, another] = open.filter((each) => each.job_id === name || each.agent === name);
    return exact ?? (another ? undefined : only);
  }

  /** The first answer counts, whoever gives it. A later one is an error. */
  reply(id: string, text: string, by: string): void {
    const waiting = this.#waiting.get(id);
    if (!waiting) throw new ReefError('question_not_found', `${id} no longer waits for an answer`);
    if (waiting.kind === 'permission')
      throw new ReefError('not_yours', 'A permission is given by a person, not by an agent');
    this.#waiting.delete(id);
    waiting.reply(text, by);
  }

  add(waiting: Waiting): () => void {
    this.#waiting.set(waiting.id, waiting);
    return () => void this.#waiting.delete(waiting.id);
  }
}

export interface EscalationDeps {
  escalations: Escalations;
  clock: Pick<Clock, 'sleep'>;
  channel: AskChannel;
  jobId: string;
  agent: string;
  /** Job ids from the root to this agent. */
  path: readonly string[];
  /** Only set for children: the agent a person talks to waits without limit. */
  timeoutMs?: number | undefined;
}

/** Asks for one agent. A person, a parent or the timeout answers, whichever is first. */
export function createEscalation(deps: EscalationDeps): EscalationPort {
  const ask: AskFn = async (question, signal) => {
    const over = new AbortController();
    const { id, answer, withdraw } = deps.channel.open(question, AbortSignal.any([signal, over.signal]));
    answer.catch(() => {}); // another answer may come first
    const { promise: replied, resolve: reply } = Promise.withResolvers<Answer>();
    const settle = (given: Answer, by: string) => {
      withdraw(by);
      reply(given);
    };
    const { kind } = question;
    const leave = deps.escalations.add({
      ...{ id: `${deps.jobId}:${id}`, job_id: deps.jobId, agent: deps.agent, path: deps.path, kind },
      question: question.question,
      ...('options' in question && { options: question.options }),
      reply: (text, by) => settle(toAnswer(question, text), by),
    });
    const { timeoutMs } = deps;
    if (timeoutMs !== undefined) {
      deps.clock.sleep(timeoutMs, over.signal).then(
        () => settle({ kind: 'timeout', waitedMs: timeoutMs }, 'timeout'),
        () => {}, // settled before
      );
    }
    try {
      return await Promise.race([answer, replied]);
    } finally {
      leave();
      over.abort();
    }
  };
  return {
    ask,
    open: () => deps.escalations.below(deps.jobId).map(({ id, question }) => ({ id, question })),
  };
}

function toAnswer(question: Question, text: string): Answer {
  switch (question.kind) {
    case 'choice':
      return { kind: 'choice', choice: text };
    case 'choices':
      return { kind: 'choices', choices: text.split(',').map((part) => part.trim()) };
    case 'confirm':
      return { kind: 'confirm', confirmed: /^\s*(y|yes|true|ok)\s*\.?\s*$/i.test(text) };
    case 'input':
      return { kind: 'input', text };
    case 'permission':
      return { kind: 'permission', decision: 'deny' };
  }
}
