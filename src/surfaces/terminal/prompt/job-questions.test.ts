import { expect } from 'vitest';
import { verifies } from '../../../../test/support/verifies.ts';
import { Limiter } from '../../../base/serial.ts';
import { ReefError } from '../../../protocol/errors.ts';
import type { ChildQuestion } from '../../native-agent/root-job.ts';
import { createStyle } from '../../render/style.ts';
import { askQuestions, refuseQuestions, tellQuestions } from './job-questions.ts';
import type { Person } from './person.ts';

type Asked = ChildQuestion['asked'];

const style = createStyle({ colour: false, width: 80, now: new Date('2026-01-01T00:00:00Z') });

/** A question of a hand below a boss, and what is answered to it. */
function child(what: Partial<Asked>, refuse: (answer: object) => boolean = () => false) {
  const sent: object[] = [];
  const settling = new AbortController();
  const asked: Asked = {
    ...{ question: 'Which?', kind: 'text', questionId: 'q', requestId: '"q"', fingerprint: 'f'.repeat(64) },
    ...{ multi: false, freeText: true, secret: false, path: ['B', 'H'], jobId: 'H', agent: 'native:hand' },
    ...{ task: 'Do it', cwd: '/w', askedAt: '2026-01-01T00:00:00Z' },
    ...what,
  };
  const question: ChildQuestion = {
    ...{ asked, chain: ['boss', 'hand'], settled: settling.signal },
    async send(answer) {
      if (refuse(answer)) throw new ReefError('bad_request', 'there is no such option');
      sent.push(answer);
    },
  };
  return { question, sent, settle: () => settling.abort() };
}

/** Types these lines; after them nothing comes until the question is taken back. */
function typist(...lines: string[]) {
  const seen: string[] = [];
  const read = (how: string) => async (text: string, signal?: AbortSignal) => {
    seen.push(`${how} ${text}`);
    const line = lines.shift();
    if (line !== undefined) return line;
    return new Promise<string>((_, reject) =>
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true }),
    );
  };
  const person: Person = { question: read('reads'), secret: read('hides'), tell: (text) => void seen.push(text) };
  return { person, seen };
}

async function answered(what: Partial<Asked>, ...lines: string[]) {
  const { question, sent } = child(what);
  const { person, seen } = typist(...lines);
  await askQuestions({ cli: { style }, person, turns: new Limiter() })(question);
  return { sent, seen };
}

verifies('R-102', 'X-55', 'X-57').test('numbers choose, words are words, and only an exact letter allows', async () => {
  const options = ['red', 'blue'];
  const cases: [Partial<Asked>, string, object[]][] = [
    [{ kind: 'choice', options }, ' 2 ', [{ option: [2] }]],
    [{ kind: 'choice', options, multi: true }, '1, 2', [{ option: [1, 2] }]],
    [{ kind: 'choice', options }, 'green', [{ text: 'green' }]],
    [{}, '2', [{ text: '2' }]],
    [{ kind: 'permission', tool: 'execute_command', input: { command: 'rm -r x' } }, 'y', [{ decision: 'allow_once' }]],
    [{ kind: 'permission' }, 'A', [{ decision: 'allow_always' }]],
    [{ kind: 'permission' }, 'No', [{ decision: 'deny' }]],
    [{ kind: 'permission' }, '', []],
    [{}, '', []],
  ];
  for (const [what, typed, sent] of cases) expect((await answered(what, typed)).sent).toEqual(sent);
  const { seen } = await answered({ kind: 'permission', tool: 'execute_command', input: { command: 'rm -r x' } }, 'n');
  expect(seen.join('\n')).toMatch(/^boss › hand asks:\n[\s\S]*execute_command[\s\S]*│ rm -r x[\s\S]*reads hand\? $/);
  expect((await answered({ secret: true }, 'hunter2')).seen.at(-1)).toBe('hides hand? ');
});

verifies('R-102').test(
  'what is refused is asked again; what is settled elsewhere is taken back; one at a time',
  async () => {
    const turns = new Limiter();
    const { person, seen } = typist('2', '1');
    const ask = askQuestions({ cli: { style }, person, turns });
    const first = child({ kind: 'choice', options: ['red', 'blue'] }, (answer) => JSON.stringify(answer).includes('2'));
    const second = child({ question: 'Still?' });
    const third = child({ question: 'Never shown' });
    const all = [first, second, third].map(({ question }) => ask(question));
    await all[0];
    expect(first.sent).toEqual([{ option: [1] }]);
    expect(seen.join('\n')).toContain('error: there is no such option');
    await expect.poll(() => seen.join('\n')).toMatch(/Still\?[\s\S]*reads hand\? $/);
    third.settle();
    second.settle();
    await Promise.all(all);
    expect([second.sent, third.sent]).toEqual([[], []]);
    expect(seen.join('\n')).not.toContain('Never shown');
    expect(seen.filter((text) => text === 'boss › hand has been answered.')).toHaveLength(1);
  },
);

verifies('R-102').test('without a person it is told how to answer, or refused with the question itself', async () => {
  const { question } = child({ kind: 'choice', options: ['red', 'blue'] });
  const told: string[] = [];
  await tellQuestions({ style, talk: (text) => void told.push(text) })(question);
  expect(told.join('\n')).toMatch(/^boss › hand asks:\n[\s\S]*reef send H --question ffffffffff --option 1/);
  await expect(refuseQuestions(question)).rejects.toMatchObject({
    code: 'needs_human',
    details: { needs_human: true, action: 'choice', question: 'Which?', options: ['red', 'blue'] },
  });
});
