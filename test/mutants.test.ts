import { expect, test } from 'vitest';
import { mutantsOf, mutate, sample } from '../scripts/mutants.ts';

const CODE = `import { a } from './a.ts'; // 1 < 2
type T = 'x' | 2;
interface U {
  n: 3;
}
/** true && false */
export function f(n: number): boolean {
  a.note('1 > 2', n);
  return !isOdd(n) && n < 10;
}
`;

test('mutants are made of what a program does, and of nothing it only says', () => {
  const told = mutantsOf('f.ts', CODE).map(({ line, was, now }) => [line, was.trim(), now.trim()]);
  expect(told).toEqual([
    [8, "a.note('1 > 2', n);", ';'],
    [9, '!', ''],
    [9, '&&', '||'],
    [9, '<', '<='],
    [9, '10', '11'],
  ]);
  const last = mutantsOf('f.ts', CODE).at(-1);
  expect(last && mutate(CODE, last)).toBe(CODE.replace('10', '11'));
});

test('the same seed draws the same, each once', () => {
  const all = Array.from({ length: 20 }, (_, n) => n);
  expect(sample(all, 5, 7)).toEqual(sample(all, 5, 7));
  expect(new Set(sample(all, 50, 7)).size).toBe(20);
});
