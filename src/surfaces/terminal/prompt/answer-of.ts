import { printable } from '../../../base/printable.ts';
import type { InboxEntry } from '../../../protocol/job-operations.ts';
import type { Decision } from '../../../protocol/jobs.ts';
import type { OperationInput } from '../../../protocol/operations.ts';

export type Answer = Pick<OperationInput<'send'>, 'text' | 'option' | 'decision'>;

type Asked = Pick<InboxEntry, 'kind' | 'options' | 'choices' | 'multi' | 'freeText' | 'field' | 'grant'>;

const WORDS: Readonly<Record<Decision, readonly string[]>> = {
  allow_once: ['y', 'yes', 'allow_once'],
  allow_session: ['s', 'allow_session'],
  allow_always: ['a', 'allow_always'],
  deny: ['n', 'no', 'deny'],
};
const DECLINE = '/deny';
const DECISIONS = Object.keys(WORDS) as Decision[];

/** Undefined: the text is not a decision. */
export function decisionOf(typed: string): Decision | undefined {
  const word = typed.trim().toLowerCase();
  return DECISIONS.find((decision) => WORDS[decision].includes(word));
}

const countOf = ({ choices, options }: Asked) => (choices ?? options ?? []).length;

/** What the person may type. */
export function howTo(asked: Asked): string {
  if (asked.kind === 'permission') {
    const covers = asked.grant ? `; s and a allow ${printable(asked.grant.covers)}` : '';
    return `y = once, s = for the rest of this job, a = always, n = no${covers}`;
  }
  const decline = asked.field ? `, ${DECLINE} to decline the form` : '';
  if (countOf(asked) === 0) return `your answer${decline}`;
  const numbers = asked.multi ? 'numbers, separated by commas' : 'a number';
  return `${asked.freeText ? `${numbers}, or your own words` : numbers}${decline}`;
}

/** Undefined: the text is not an answer. Numbers choose options; other words count only where free text is allowed. */
export function answerOf(asked: Asked, typed: string): Answer | undefined {
  const text = typed.trim();
  if (asked.kind === 'permission') {
    const decision = decisionOf(text);
    return decision && { decision };
  }
  if (asked.field && text === DECLINE) return { decision: 'deny' };
  const count = countOf(asked);
  if (count === 0) return { text };
  if (!/^\d+([\s,]+\d+)*$/.test(text)) return asked.freeText ? { text } : undefined;
  const option = text.split(/[\s,]+/).map(Number);
  const areThere = option.every((number) => number >= 1 && number <= count);
  return areThere && (asked.multi || option.length === 1) ? { option } : undefined;
}
