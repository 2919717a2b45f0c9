import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { expect, test } from 'vitest';
import { recordings, withoutProse } from '../scripts/strip-recordings.ts';

test('no recording carries instructions or descriptions that the makers of an agent wrote', () => {
  const files = recordings();
  const carrying = files.filter((file) => {
    const text = readFileSync(file, 'utf8');
    return withoutProse(file, text) !== text;
  });
  expect(
    carrying.map((file) => relative('', file)),
    'run: node scripts/strip-recordings.ts',
  ).toEqual([]);
  expect(files.length).toBeGreaterThan(400);
});

test('what is left out keeps its length, and all around it its bytes', () => {
  const spoken = (description: string) =>
    `{"ms":1.0,"dir":"out","line":${JSON.stringify(`{"id":12345678901234567890,"description":"${description}","text":"ok"}`)}}\n`;
  const placeholder = '[text of the agent program, 1,200 characters, left out]'.padEnd(1_200, '.');
  const short = spoken('Says hello.');
  const stripped = withoutProse('a.jsonl', spoken('Be kind. 12'.padEnd(1_200, 'x')));
  expect([stripped, withoutProse('a.jsonl', stripped), withoutProse('a.jsonl', short)]).toEqual([
    spoken(placeholder),
    spoken(placeholder),
    short,
  ]);
});

test('a long line of standard error is left out, a change that was made is kept', () => {
  const diff = `{"diff":"${'+x'.repeat(400)}"}\n`;
  const [quoted = '', next] = withoutProse('a.stderr.txt', `3 | ${'f()'.repeat(200)}\nat main\n`).split('\n');
  expect([quoted.slice(0, 40), quoted.length, next, withoutProse('a.jsonl', diff)]).toEqual([
    '[text of the agent program, 604 characte',
    604,
    'at main',
    diff,
  ]);
});
