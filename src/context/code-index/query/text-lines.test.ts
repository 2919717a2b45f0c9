import { expect, test } from 'vitest';
import { TextLines } from './text-lines.ts';

test.each([
  ['of the same length', 'One\nTWO two\nthree'],
  ['longer, for İ becomes two', 'İİİİ\nTWO İ two\nthree'],
])('a text in lower case has its words on the same lines: %s', (_, text) => {
  const lines = new TextLines(text);
  const folded = lines.folded();
  expect([folded.linesWith('two'), folded.linesWith('three'), folded.cut(3, 3), folded.count]).toEqual([
    [2],
    [3],
    lines.cut(3, 3),
    3,
  ]);
});

test('no letter becomes fewer in lower case: a text as long as before has its lines where they were', () => {
  const shorter: string[] = [];
  for (let code = 0; code <= 0x10ffff; code++) {
    const letter = String.fromCodePoint(code);
    if (letter.toLowerCase().length < letter.length) shorter.push(letter);
  }
  expect(shorter).toEqual([]);
});
