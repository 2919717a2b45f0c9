import { expect, test } from 'vitest';
import { verifies } from '../../../../test/support/verifies.ts';
import { namesWith, TextLines } from './text-lines.ts';

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

verifies('C-063').test('names are found by their parts, also after one that is written over several lines', () => {
  const find = namesWith(['[\n  Symbol.asyncIterator\n]', 'emptyCart', 'cartel', 'cart_of']);
  expect({ cart: find('cart'), iterator: find('iterator') }).toEqual({ cart: [1, 3], iterator: [0] });
});

verifies('C-063').test('however many names have a part, all are found', () => {
  const names = Array.from({ length: 1_000 }, (_, at) => `cart_${at}`);
  expect(namesWith(names)('cart')).toHaveLength(1_000);
});
