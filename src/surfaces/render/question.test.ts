import { expect } from 'vitest';
import { JOB_ID, NOW, sampleChoice, sampleEntry, sampleQuestion } from '../../../test/support/surfaces/samples.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { answerCommands, renderQuestion } from './question.ts';
import { createStyle } from './style.ts';

const style = createStyle({ colour: false, width: 40, now: NOW });
const PARENT = '01KA1A00000000000000000000';

verifies('X-57').test('a permission shows the whole command, its folder, its chain, and how to answer', () => {
  const entry = sampleEntry(sampleQuestion({ path: [PARENT, JOB_ID] }));
  expect(renderQuestion(entry, style)).toBe(
    [
      '01KA1B2C3D4E5F6G7H8J9KAMNP  claude  permission, asked 30s ago',
      '  task     set up the database',
      '  folder   /repo',
      '  chain    01KA1A00 › 01KA1B2C',
      '  tool     Bash',
      '           │ rm -rf build',
      '           │ && npm test',
      '  asks     Allow Bash?',
      '  answer   reef send 01KA1B2C3D4E5F6G7H8J9KAMNP --question 3fa9c2d1e0 --allow',
      '           reef send 01KA1B2C3D4E5F6G7H8J9KAMNP --question 3fa9c2d1e0 --deny "why not"',
    ].join('\n'),
  );
});

verifies('X-57').test('a command is never cut, however long', () => {
  const command = `echo ${'x'.repeat(20_000)} && rm -rf /`;
  expect(renderQuestion(sampleEntry(sampleQuestion({ input: { command } })), style)).toContain(command);
});

verifies('X-51').test('what hides itself in a command is shown', () => {
  const command = 'ls \u202e/ fr- mr\u001b[2K';
  expect(renderQuestion(sampleEntry(sampleQuestion({ input: { command } })), style)).toContain(
    '│ ls <U+202E>/ fr- mr␛[2K',
  );
});

verifies('X-57').test('arguments that are no command are shown as they are, with the diff', () => {
  const inputs = [
    { path: 'a.ts' },
    ['a'],
    'plain',
    7,
    null,
    { old_string: 'a', content: 'b\nc' },
    { command: ['git', 'push', '--force me'], timeout: 5 },
  ];
  const shown = inputs.map((input) => {
    const text = renderQuestion(sampleEntry(sampleQuestion({ input, diff: '-a\n+b' })), style);
    return text
      .split('\n')
      .filter((line) => line.includes('│'))
      .map((line) => line.replace(/^.*│ /, ''));
  });
  expect(shown).toEqual([
    ['{', '  "path": "a.ts"', '}', '-a', '+b'],
    ['[', '  "a"', ']', '-a', '+b'],
    ['plain', '-a', '+b'],
    ['7', '-a', '+b'],
    ['null', '-a', '+b'],
    ['{', '  "content": "b\\nc"', '}', '-a', '+b'],
    ["git push '--force me'", '{', '  "timeout": 5', '}', '-a', '+b'],
  ]);
});

verifies('A-40').test('a choice lists its options by number', () => {
  const entry = sampleEntry(sampleChoice({ header: 'Storage', group: { index: 1, of: 3 } }));
  expect(renderQuestion(entry, style).split('\n').slice(3)).toEqual([
    '  asks     Storage: Which database? (2 of 3)',
    '           1  SQLite – one file',
    '           2  Postgres',
    '  answer   reef send 01KA1B2C3D4E5F6G7H8J9KAMNP --question 3fa9c2d1e0 --option 1',
  ]);
});

verifies('A-47').test('each kind of question is answered in its own way', () => {
  const send = `reef send ${JOB_ID} --question 3fa9c2d1e0`;
  const text = { options: [], choices: [] };
  const cases = [
    sampleChoice({ multi: true }),
    sampleChoice({ freeText: true }),
    sampleChoice({ ...text, kind: 'text', freeText: true }),
    sampleChoice({ ...text, kind: 'text', freeText: true, secret: true }),
  ];
  expect(cases.map((question) => answerCommands(sampleEntry(question)))).toEqual([
    [`${send} --option 1 --option 2`],
    [`${send} --option 1`, `${send} "your answer"`],
    [`${send} "your answer"`],
    [`${send} -   (reads it from standard input)`],
  ]);
});
