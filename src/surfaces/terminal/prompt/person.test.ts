import { expect, test } from 'vitest';
import { verifies } from '../../../../test/support/verifies.ts';
import { Limiter } from '../../../base/serial.ts';
import type { Question } from '../../../runtime/tools/tool.ts';
import { askNobody, askPerson, type Person, userPort } from './person.ts';

/** Types these lines, one for each question. */
function typist(...lines: string[]): Person & { seen: string[] } {
  const seen: string[] = [];
  const answer = async (text: string) => {
    seen.push(text);
    return lines.shift() ?? '';
  };
  return { seen, question: answer, secret: answer, tell: (text) => void seen.push(text) };
}

const { signal } = new AbortController();
const permission: Question = {
  kind: 'permission',
  question: 'May it?',
  tool: 'execute_command',
  arguments: { command: 'rm -r \u001b[2Jx' },
  cwd: '/work place',
  reasons: ['it would run: rm'],
};

verifies('X-55').test('only an exact letter allows', async () => {
  const decisions = [];
  for (const typed of ['y', 'S', ' a ', 'yes please', '', 'n']) {
    decisions.push(await askPerson(typist(typed), new Limiter())(permission, signal));
  }
  expect(decisions.map((answer) => answer.kind === 'permission' && answer.decision)).toEqual([
    'allow_once',
    'allow_session',
    'allow_always',
    'deny',
    'deny',
    'deny',
  ]);
});

verifies('X-57').test('what is asked about is shown whole, and nothing of it acts on the terminal', async () => {
  const person = typist('n');
  await askPerson(person, new Limiter())(permission, signal);
  expect(person.seen[0]).toContain('execute_command in /work place');
  expect(person.seen[0]).toContain('rm -r ');
  expect(person.seen.join('')).not.toContain('\u001b');
});

test('a choice is made by number, and asked again three times', async () => {
  const choice: Question = { kind: 'choice', question: 'Which?', options: ['red', 'blue'] };
  const choices: Question = { ...choice, kind: 'choices' };
  expect([
    await askPerson(typist('3', 'two', '2'), new Limiter())(choice, signal),
    await askPerson(typist('9', '9', '9'), new Limiter())(choice, signal),
    await askPerson(typist('2, 1'), new Limiter())(choices, signal),
    await askPerson(typist(''), new Limiter())(choices, signal),
  ]).toEqual([
    { kind: 'choice', choice: 'blue' },
    { kind: 'input', text: '' },
    { kind: 'choices', choices: ['blue', 'red'] },
    { kind: 'choices', choices: [] },
  ]);
});

test('yes and no have a preset, and a text is a text', async () => {
  const port = userPort(typist('', '', 'Y', 'nonsense'));
  const confirmed = [
    await port.confirm('?', true),
    await port.confirm('?', false),
    await port.confirm('?', false),
    await port.confirm('?', true),
  ];
  const asked = await askPerson(typist('a reef'), new Limiter())({ kind: 'input', question: 'What?' }, signal);
  expect([confirmed, asked, await askNobody(permission, signal)]).toEqual([
    [true, false, true, false],
    { kind: 'input', text: 'a reef' },
    { kind: 'needs_human' },
  ]);
});
