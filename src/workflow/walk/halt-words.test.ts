import { expect, test } from 'vitest';
import { haltWords } from './halt-words.ts';

const write = { block: 'Main__Write', isAgent: true, fault: undefined, hasFailed: false };

test('why a run halts is said of what happened, and an error is not what the agent says', () => {
  expect([
    haltWords({ ...write, signal: 'SIGNAL:FAILURE' }),
    haltWords({ ...write, signal: 'SIGNAL:FAILURE', hasFailed: true }),
    haltWords({ ...write, signal: 'SIGNAL:VALIDATION_FAIL', fault: 'no result was found' }),
    haltWords({ ...write, signal: 'SIGNAL:FAILURE', isAgent: false }),
  ]).toEqual([
    'The agent says that it could not do Write.',
    'The agent stopped with an error in Write.',
    'The agent never reported a usable result for Write. Its first answer: no result was found. Continue?',
    'Write failed.',
  ]);
});
