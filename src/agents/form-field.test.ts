import { afterEach, beforeEach, expect } from 'vitest';
import { TestStorage } from '../../test/support/job-storage.ts';
import { manualClock } from '../../test/support/manual-clock.ts';
import { verifies } from '../../test/support/verifies.ts';
import type { OperationRequest } from '../protocol/operations.ts';
import type { Adapter, Answer } from './adapter.ts';
import { elicitedQuestions } from './codex/elicitation.ts';
import { requests } from './codex/schema.ts';
import { applyEffects } from './effects.ts';
import { fieldOf, fieldValue, formField } from './form-field.ts';
import type { OutboxDoc } from './outbox.ts';
import { send } from './sending.ts';

const text = (written: string): Answer => ({ kind: 'text', text: written });
const chosen = (...ids: string[]): Answer => ({ kind: 'choice', ids, labels: ids });

const cases: [shape: Record<string, unknown>, answer: Answer, value: unknown][] = [
  [{ type: 'integer', minimum: 1, maximum: 9 }, text(' 4 '), { value: 4 }],
  [{ type: 'integer' }, text('4.5'), { bad: '4.5 is not a whole number' }],
  [{ type: 'integer' }, text('four'), { bad: '"four" is not a whole number' }],
  [{ type: 'integer', minimum: 1 }, text('0'), { bad: 'give a number of 1 or more' }],
  [{ type: 'number', maximum: 9 }, text('9.5'), { bad: 'give a number of 9 or less' }],
  [{ type: 'number' }, text('0x'), { bad: '"0x" is not a number' }],
  [{ type: 'string', minLength: 3 }, text('ab'), { bad: 'its length has to be 3 or more' }],
  [{ type: 'string', maxLength: 3 }, text('abcd'), { bad: 'its length has to be 3 or less' }],
  [{ type: 'string', format: 'email' }, text('ann'), { bad: '"ann" is not of the form email' }],
  [{ type: 'string', format: 'date' }, text('2026-13-40'), { bad: '"2026-13-40" is not of the form date' }],
  [{ type: 'string', format: 'uri' }, text('https://example.org'), { value: 'https://example.org' }],
  [{ type: 'string' }, text('  '), { bad: 'it is required' }],
  [{ type: 'boolean' }, chosen('false'), { value: false }],
  [{ type: 'string', enum: ['a'] }, chosen(), { bad: 'it is required' }],
  [{ type: 'array', items: { enum: ['a', 'b'] }, minItems: 1 }, chosen(), { bad: 'choose 1 or more' }],
  [{ type: 'array', items: { enum: ['a', 'b'] }, maxItems: 1 }, chosen('a', 'b'), { bad: 'choose 1 or less' }],
];

for (const [shape, answer, result] of cases) {
  verifies('A-171').test(`${JSON.stringify(shape)} takes or refuses ${JSON.stringify(answer)}`, () => {
    const field = fieldOf('n', formField.parse(shape), ['n']);
    expect(field && fieldValue(field, answer)).toEqual(result);
  });
}

let storage: TestStorage;
beforeEach(() => {
  storage = new TestStorage(manualClock());
  storage.addJob('J', {});
  const properties = { name: { type: 'string', minLength: 2 }, age: { type: 'integer', title: 'Age', maximum: 120 } };
  const params = requests['mcpServer/elicitation/request'].parse({
    serverName: 'shop',
    mode: 'form',
    message: 'Who are you?',
    requestedSchema: { type: 'object', properties, required: ['name'] },
  });
  storage.change('J', (tx) => {
    const asked = { do: 'ask', requestId: '7', questions: elicitedQuestions(params) ?? [] } as const;
    applyEffects(tx, [asked], { stream: 'out', offset: 0, bytes: 1, text: '' });
  });
});
afterEach(() => storage.close());

const give = (request: Partial<OperationRequest<'send'>>) =>
  send(
    { storage, adapter: {} as Adapter },
    { job: storage.record('J').job, request: { id: 'J', ...request }, caller: { by: 'me', surface: 'cli' } },
  );
const open = () => storage.store.questions.unclosedOf('J').filter(({ state }) => state === 'open');
const mailed = () =>
  storage.store.outbox.open<OutboxDoc>('J').map(({ doc }) => (doc.kind === 'answer' ? doc.answers : []));

verifies('A-171').test('a wrong answer leaves the question open and says which field and why', () => {
  const before = open().length;
  expect(() => give({ questionId: '7#1', text: 'old' })).toThrow('Age: "old" is not a whole number');
  expect(() => give({ questionId: '7#1', text: '130' })).toThrow('Age: give a number of 120 or less');
  expect([before, open().length, mailed()]).toEqual([2, 2, []]);
  give({ questionId: '7#1', text: '30' });
  give({ questionId: '7#0', text: 'Ann' });
  expect(mailed()).toEqual([[text('Ann'), text('30')]]);
});

verifies('A-171').test('who declines one field declines the form, and nothing of it stays open', () => {
  const [row] = open();
  give({ questionId: '7#0', decision: 'deny', ...(row && { fingerprint: row.question.fingerprint }) });
  expect(open()).toEqual([]);
  expect(mailed()).toMatchObject([
    [
      { kind: 'permission', decision: 'deny' },
      { kind: 'permission', decision: 'deny' },
    ],
  ]);
});
