import { expect } from 'vitest';
import { sampleChoice, sampleQuestion } from '../../../../test/support/surfaces/samples.ts';
import { verifies } from '../../../../test/support/verifies.ts';
import { answerOf, howTo } from './answer-of.ts';

verifies('X-55').test('only an exact letter or word decides; whatever else is typed decides nothing', () => {
  const allowed = ['y', 'YES', ' allow_once '].map((typed) => answerOf(sampleQuestion(), typed));
  expect(allowed).toEqual(allowed.map(() => ({ decision: 'allow_once' })));
  const others = ['s', 'a', 'allow_always', 'n', 'No', 'deny'].map((typed) => answerOf(sampleQuestion(), typed));
  expect(others.map((answer) => answer?.decision)).toEqual([
    ...['allow_session', 'allow_always', 'allow_always', 'deny', 'deny', 'deny'],
  ]);
  for (const typed of ['', 'yes please', 'allow', 'denied', 'yy', '1', 'constructor', 'toString'])
    expect([typed, answerOf(sampleQuestion(), typed)]).toEqual([typed, undefined]);
});

verifies('X-55').test('numbers choose among what there is; other words are an answer where one may be', () => {
  const [one, several] = [sampleChoice(), sampleChoice({ multi: true })];
  const free = sampleChoice({ freeText: true });
  expect(['2', ' 1 ', '0', '3', '1, 2', 'SQLite'].map((typed) => answerOf(one, typed))).toEqual([
    ...[{ option: [2] }, { option: [1] }, undefined, undefined, undefined, undefined],
  ]);
  expect(['1, 2', '2 1', '2,1', '1 3', '1 and 2'].map((typed) => answerOf(several, typed))).toEqual([
    ...[{ option: [1, 2] }, { option: [2, 1] }, { option: [2, 1] }, undefined, undefined],
  ]);
  expect(['2', 'neither', '7'].map((typed) => answerOf(free, typed))).toEqual([
    ...[{ option: [2] }, { text: 'neither' }, undefined],
  ]);
  const text = sampleQuestion({ kind: 'text', freeText: true });
  expect(['7', 'y', ' blue '].map((typed) => answerOf(text, typed))).toEqual([
    ...[{ text: '7' }, { text: 'y' }, { text: 'blue' }],
  ]);
  expect([sampleQuestion(), text, one, several, free].map(howTo)).toEqual([
    ...[
      'y = once, s = for the rest of this job, a = always, n = no',
      'your answer',
      'a number',
      'numbers, separated by commas',
    ],
    'a number, or your own words',
  ]);
});
