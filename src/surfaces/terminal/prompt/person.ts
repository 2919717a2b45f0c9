import { setImmediate as immediately } from 'node:timers/promises';
import { printable } from '../../../base/printable.ts';
import type { Limiter } from '../../../base/serial.ts';
import type { UserPort } from '../../../runtime/state/context-data.ts';
import type { Answer, AskFn, Decision, Question } from '../../../runtime/tools/tool.ts';
import { answerOf, decisionOf } from './answer-of.ts';

/** Somebody at a terminal who reads a question and types a line. */
export interface Person {
  /** `signal` withdraws the question. */
  question(text: string, signal?: AbortSignal): Promise<string>;
  /** What is typed is not shown. */
  secret(text: string, signal?: AbortSignal): Promise<string>;
  tell(text: string): void;
}

export const isYes = (typed: string, preset: boolean) =>
  typed.trim() === '' ? preset : /^y(es)?$/i.test(typed.trim());

export function userPort(person: Person): UserPort {
  return {
    confirm: async (question, preset) =>
      isYes(await person.question(`${question} [${preset ? 'Y/n' : 'y/N'}] `), preset),
    input: (question) => person.question(question),
    choose: (question, options) => choose(person, { kind: 'choices', question, options }, new AbortController().signal),
  };
}

/** For when nobody is there: the run ends and says what a person has to do. */
export const askNobody: AskFn = async () => ({ kind: 'needs_human' });

/** Asks one question at a time: each waits in `turns` until the one before has its answer. */
export function askPerson(person: Person, turns: Limiter): AskFn {
  return (question, signal) =>
    turns.run(async () => {
      signal.throwIfAborted();
      // Events take a moment to reach the screen, and what led to the question must stand above it.
      await immediately();
      return answerTo(person, question, signal);
    });
}

async function answerTo(person: Person, question: Question, signal: AbortSignal): Promise<Answer> {
  const ask = (text: string) => person.question(text, signal);
  switch (question.kind) {
    case 'choice': {
      const [choice] = await choose(person, question, signal);
      return choice === undefined ? { kind: 'input', text: '' } : { kind: 'choice', choice };
    }
    case 'choices':
      return { kind: 'choices', choices: await choose(person, question, signal) };
    case 'confirm':
      return { kind: 'confirm', confirmed: isYes(await ask(`${printable(question.question)} [y/N] `), false) };
    case 'input':
      return { kind: 'input', text: await ask(`${printable(question.question)} `) };
    case 'permission':
      return { kind: 'permission', decision: await permit(person, question, signal) };
  }
}

type Choice = Extract<Question, { kind: 'choice' | 'choices' }>;

/** Options are chosen by number. Anything else is asked again, at most three times. */
async function choose(person: Person, { kind, question, options }: Choice, signal: AbortSignal): Promise<string[]> {
  person.tell([printable(question), ...options.map((text, n) => `  ${n + 1}. ${printable(text)}`)].join('\n'));
  const multi = kind === 'choices';
  for (let attempt = 0; attempt < 3; attempt++) {
    const typed = await person.question(multi ? 'Numbers, separated by commas: ' : 'Number: ', signal);
    if (multi && typed.trim() === '') return [];
    const numbers = answerOf({ kind: 'choice', options: [...options], multi, freeText: false }, typed)?.option;
    if (numbers) return numbers.flatMap((n) => options[Number(n) - 1] ?? []);
  }
  return [];
}

/** Shows the whole call before the question. Only an exact letter or word allows it. */
async function permit(
  person: Person,
  { tool, arguments: args, cwd, reasons }: Extract<Question, { kind: 'permission' }>,
  signal: AbortSignal,
): Promise<Decision> {
  const shown = JSON.stringify(args, null, 2) ?? '';
  person.tell(printable([`${tool} in ${cwd}`, shown, ...reasons].join('\n')));
  const typed = await person.question(
    'Allow? y = once, s = for this session, a = always, anything else = no: ',
    signal,
  );
  return decisionOf(typed) ?? 'deny';
}
