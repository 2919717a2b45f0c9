import type { Clock } from '../../base/clock.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { EscalationPort } from '../state/scope.ts';
import type { Answer, AskFn, Question } from '../tools/tool.ts';
import type { Escalation } from './job-port.ts';

/** Where an agent's questions go: its own wire, and from there into the one inbox. */
export interface AskChannel {
  /** `id` names the question there; `withdraw` takes it back, saying who settled it. */
  open(question: Question, signal: AbortSignal): { id: string; answer: Promise<Answer>; withdraw(by: string): void };
}

interface Waiting extends Escalation {
  reply(text: string, by: string): void;
}

/** The open questions of all agents of one host: what the seed shares from the root. */
export class Escalations {
  readonly #waiting = new Map<string, Waiting>();

  /** Those of a job and of all below it. */
  below(jobId: string): Escalation[] {
    return [...this.#waiting.values()]
      .filter(({ path }) => path.includes(jobId))
      .map(({ reply: _, ...escalation }) => escalation);
  }

  /** The one below a job that is meant by its id, or by the agent that asks when it asks one thing. */
  find(name: string, below: string): Escalation | undefined {
    const open = [...this.#waiting.values()].filter(({ path }) => path.includes(below));
    const exact = open.find(({ id }) => id === name);
    const [only, another] = open.filter((each) => each.job_id === name || each.agent === name);
    return exact ?? (another ? undefined : only);
  }

  /** The first answer counts, whoever gives it; what nobody asks any more is an error and no answer. */
  reply(id: string, text: string, by: string): void {
    const waiting = this.#waiting.get(id);
    if (!waiting) throw new ReefError('question_not_found', `Nobody waits for an answer to ${id} any more`);
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
  /** From the root to this agent. */
  path: readonly string[];
  /** A child is not left waiting for ever; a person's own agent is. */
  timeoutMs?: number | undefined;
}

/** One agent's way to ask: person, parent or time, whichever is first, and only this agent waits. */
export function createEscalation(parts: EscalationDeps): EscalationPort {
  const ask: AskFn = async (question, signal) => {
    const over = new AbortController();
    const { id, answer, withdraw } = parts.channel.open(question, AbortSignal.any([signal, over.signal]));
    answer.catch(() => {}); // it may lose the race
    const { promise: replied, resolve: reply } = Promise.withResolvers<Answer>();
    const settle = (given: Answer, by: string) => {
      withdraw(by);
      reply(given);
    };
    const { kind } = question;
    const leave = parts.escalations.add({
      ...{ id: `${parts.jobId}:${id}`, job_id: parts.jobId, agent: parts.agent, path: parts.path, kind },
      question: question.question,
      ...('options' in question && { options: question.options }),
      reply: (text, by) => settle(toAnswer(question, text), by),
    });
    const { timeoutMs } = parts;
    if (timeoutMs !== undefined) {
      parts.clock.sleep(timeoutMs, over.signal).then(
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
    open: () => parts.escalations.below(parts.jobId).map(({ id, question }) => ({ id, question })),
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
