import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { aQuestion } from '../../test/support/job-storage.ts';
import { verifies } from '../../test/support/verifies.ts';
import { ReefError } from '../protocol/errors.ts';
import { decisionSchema, type Question } from '../protocol/jobs.ts';
import { type OperationRequest, operations } from '../protocol/operations.ts';
import { type Intent, interpretSend } from './answers.ts';

const question = (more: Partial<Question> & Pick<Question, 'questionId' | 'kind'>) =>
  aQuestion(more.questionId, { question: 'Which one?', fingerprint: `seen ${more.questionId}`, path: ['J'], ...more });
const choices = [
  { id: 'pg', label: 'Postgres' },
  { id: 'lite', label: 'SQLite' },
];
const permission = question({ questionId: 'p#0', kind: 'permission', tool: 'Bash', input: { command: 'ls' } });
const choice = question({ questionId: 'c#0', kind: 'choice', choices, options: ['Postgres', 'SQLite'] });
const several = question({ questionId: 's#0', kind: 'choice', choices, multi: true });
const openChoice = question({ questionId: 'o#0', kind: 'choice', choices, freeText: true });
const text = question({ questionId: 't#0', kind: 'text', freeText: true });

type Send = Omit<OperationRequest<'send'>, 'id'>;
const meaning = (request: Send, open: Question[]): Intent | { code: string; details?: unknown } => {
  try {
    return interpretSend({ id: 'J', ...request }, open);
  } catch (error) {
    if (!(error instanceof ReefError)) throw error;
    return { code: error.code, ...(error.details ? { details: error.details } : {}) };
  }
};
const answer = (of: Question, given: Extract<Intent, { is: 'answer' }>['answer']): Intent => ({
  is: 'answer',
  question: of,
  answer: given,
});
const picked = (...of: typeof choices) => ({
  kind: 'choice' as const,
  labels: of.map(({ label }) => label),
  ids: of.map(({ id }) => id),
});
const [postgres, sqlite] = choices as [(typeof choices)[0], (typeof choices)[0]];
const badOption = { code: 'bad_option', details: { options: ['1. Postgres', '2. SQLite'] } };

const cases: [string, Send, Question[], ReturnType<typeof meaning>][] = [
  ['text with nothing open is a message', { text: 'go on' }, [], { is: 'message', text: 'go on' }],
  ['text is the answer to a text question', { text: 'blue' }, [text], answer(text, { kind: 'text', text: 'blue' })],
  ['text that is a label chooses it', { text: 'SQLite' }, [choice], answer(choice, picked(sqlite))],
  ['a label comes before free text', { text: 'SQLite' }, [openChoice], answer(openChoice, picked(sqlite))],
  [
    'other text is free text where that is offered',
    { text: 'a plain file' },
    [openChoice],
    answer(openChoice, { ...picked(), text: 'a plain file' }),
  ],
  ['other text is no option', { text: 'sql' }, [choice], badOption],
  ['small letters will do for a label', { text: 'sqlite' }, [choice], answer(choice, picked(sqlite))],
  ['they do in an option', { option: ['postgres'] }, [choice], answer(choice, picked(postgres))],
  ['text answers no permission', { text: 'yes' }, [permission], { code: 'answer_needs_decision' }],
  ['an option answers no permission', { option: ['allow_once'] }, [permission], { code: 'answer_needs_decision' }],
  ['a number answers no permission', { option: [1] }, [permission], { code: 'answer_needs_decision' }],
  [
    'text to a permission by its id is no decision',
    { text: 'allow_once', questionId: 'p#0' },
    [permission, choice],
    { code: 'answer_needs_decision' },
  ],
  ['a label chooses', { option: ['Postgres'] }, [choice], answer(choice, picked(postgres))],
  ['an id chooses', { option: ['lite'] }, [choice], answer(choice, picked(sqlite))],
  ['numbers count from 1', { option: [1] }, [choice], answer(choice, picked(postgres))],
  ['a typed number is a number', { option: ['2'] }, [choice], answer(choice, picked(sqlite))],
  ['0 is no option', { option: [0] }, [choice], badOption],
  ['-1 is no option', { option: [-1] }, [choice], badOption],
  ['3 of 2 is no option', { option: [3] }, [choice], badOption],
  ['a typed 0 is no option', { option: ['0'] }, [choice], badOption],
  ['an unknown label is no option', { option: ['MySQL'] }, [choice], badOption],
  ['two options for one are refused', { option: [1, 2] }, [choice], badOption],
  ['two options for several are taken', { option: [2, 'pg'] }, [several], answer(several, picked(sqlite, postgres))],
  [
    'an option may come with words',
    { option: [1], text: 'version 18' },
    [choice],
    answer(choice, { ...picked(postgres), text: 'version 18' }),
  ],
  ['a text question has no options', { option: ['x'] }, [text], { code: 'bad_option', details: { options: [] } }],
  ['a decision answers no choice', { decision: 'deny', fingerprint: 'x' }, [choice], { code: 'bad_request' }],
  ['a decision names what it saw', { decision: 'allow_once' }, [permission], { code: 'bad_request' }],
  [
    'a decision about something else is refused',
    { decision: 'allow_once', fingerprint: 'seen before' },
    [permission],
    { code: 'question_changed' },
  ],
  [
    'so is a refusal of something else',
    { decision: 'deny', fingerprint: 'seen before' },
    [permission],
    { code: 'question_changed' },
  ],
  ...decisionSchema.options.map((decision): [string, Send, Question[], Intent] => [
    `${decision} is a decision`,
    { decision, fingerprint: permission.fingerprint },
    [permission],
    answer(permission, { kind: 'permission', decision }),
  ]),
  [
    'a refusal may say why',
    { decision: 'deny', fingerprint: permission.fingerprint, reason: 'too broad' },
    [permission],
    answer(permission, { kind: 'permission', decision: 'deny', reason: 'too broad' }),
  ],
  [
    'with several open the id chooses',
    { option: [1], questionId: 'c#0' },
    [permission, choice],
    answer(choice, picked(postgres)),
  ],
  [
    'several open and no id',
    { text: 'SQLite' },
    [choice, text],
    {
      code: 'which_question',
      details: {
        questions: [
          { questionId: 'c#0', question: 'Which one?' },
          { questionId: 't#0', question: 'Which one?' },
        ],
      },
    },
  ],
  ['an id that is not open', { text: 'x', questionId: 'z#0' }, [text], { code: 'question_not_found' }],
  ['an answer to nothing', { option: [1] }, [], { code: 'question_not_found' }],
  ['a decision about nothing', { decision: 'allow_once', fingerprint: 'x' }, [], { code: 'question_not_found' }],
  ['nothing at all', {}, [choice], { code: 'bad_request' }],
  [
    'text and a decision at once',
    { text: 'yes', decision: 'allow_once', fingerprint: permission.fingerprint },
    [permission],
    { code: 'bad_request' },
  ],
  [
    'an option and a decision at once',
    { option: [1], decision: 'allow_once', fingerprint: permission.fingerprint },
    [permission],
    { code: 'bad_request' },
  ],
];

describe('what a send means', () => {
  for (const [sentence, request, open, expected] of cases) {
    verifies('A-47').test(sentence, () => expect(meaning(request, open)).toEqual(expected));
  }
});

verifies('X-55').test('a decision is one of four words, and no other word is read as one', () => {
  const words = ['allow', 'denied', 'yes', 'ALLOW_ONCE', 'allow_once ', 'allow-once', '', 'true', 'ok', 'approve'];
  const read = (decision: unknown) => operations.send.input.safeParse({ id: 'J', decision }).success;
  expect([...decisionSchema.options, ...words, true, 1, null].filter(read)).toEqual(decisionSchema.options);
});

const tricky = fc.constantFrom('yes', 'y', 'allow', 'allow_once', 'allow_always', 'Allow', '1', 'true', 'denied');
const anyText = fc.oneof(tricky, fc.string(), fc.string({ unit: 'binary' }));
const labelled = anyText.map((label) => ({ id: label, label }));
const anyQuestion = fc
  .record({
    questionId: fc.constantFrom('p#0', 'c#0', 'q#1'),
    kind: fc.constantFrom('permission', 'choice', 'text'),
    choices: fc.array(labelled, { maxLength: 4 }),
    multi: fc.boolean(),
    freeText: fc.boolean(),
  })
  .map((more) => question(more as Parameters<typeof question>[0]));
const anyWords = fc.record(
  {
    text: anyText,
    option: fc.array(fc.oneof(anyText, fc.integer()), { minLength: 1, maxLength: 3 }),
    questionId: fc.constantFrom('p#0', 'c#0', 'q#1'),
    fingerprint: fc.constantFrom('seen p#0', 'seen c#0', 'seen q#1'),
    reason: anyText,
    key: anyText,
  },
  { requiredKeys: [] },
);

verifies('X-55').test('no text, number or label whatever becomes an allowance, or any answer to a permission', () => {
  fc.assert(
    fc.property(anyWords, fc.array(anyQuestion, { maxLength: 3 }), (words, open) => {
      const read = meaning(words, open);
      const isAnswer = 'answer' in read && [read.answer.kind, read.question.kind].includes('permission');
      expect(isAnswer).toBe(false);
    }),
    { numRuns: 2000 },
  );
});

verifies('X-56').test('a decision counts only with the fingerprint of the question it answers', () => {
  fc.assert(
    fc.property(fc.constantFrom(...decisionSchema.options), fc.option(anyText), (decision, seen) => {
      const request = { decision, ...(seen === null ? {} : { fingerprint: seen }) };
      const read = meaning(request, [permission]);
      expect('is' in read).toBe(seen === permission.fingerprint);
    }),
  );
});

test('interpreting changes neither the request nor the questions', () => {
  const open = [Object.freeze(structuredClone(several))];
  meaning(Object.freeze({ option: Object.freeze([2, 1]) as number[] }), open);
  expect(open).toEqual([several]);
});
