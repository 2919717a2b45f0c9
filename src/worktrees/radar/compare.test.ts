import fc from 'fast-check';
import { expect } from 'vitest';
import { verifies } from '../../../test/support/verifies.ts';
import type { FileRanges } from '../../git/diff.ts';
import { hotFiles, sharedLines } from './compare.ts';

const change = (path: string, lines: [number, number][], more: Partial<FileRanges> = {}): FileRanges => ({
  ...{
    status: 'M',
    path,
    before: { mode: '100644', oid: 'o' },
    after: { mode: '100644', oid: path + lines.join() },
    lines,
  },
  ...more,
});
const exact = (path: string) => path;
const hot = (one: FileRanges[], other: FileRanges[], conflicts: string[] = []) =>
  hotFiles({ one, other, conflicts, fold: exact });

verifies('T-12').test('lines meet where both ranges have them', () => {
  expect(
    sharedLines(
      [
        [1, 3],
        [10, 12],
      ],
      [
        [3, 4],
        [5, 9],
        [12, 20],
      ],
    ),
  ).toEqual([
    [3, 3],
    [12, 12],
  ]);
  expect(sharedLines([[1, 3]], [[4, 5]])).toEqual([]);
});

verifies('X-139', 'T-12').test('as many ranges as an agent likes are compared in one walk along them', () => {
  const every = (step: number, from: number) =>
    Array.from({ length: 100_000 }, (_, n): [number, number] => [from + n * step, from + n * step]);
  // Every pair would be ten thousand million.
  expect(sharedLines(every(2, 0), every(3, 0)).length).toBe(33_334);
  const small = fc.array(fc.tuple(fc.nat(20), fc.nat(4)).map(([a, b]): [number, number] => [a, a + b]));
  const linesOf = (ranges: readonly (readonly [number, number])[]) =>
    new Set(ranges.flatMap(([a, b]) => Array.from({ length: b - a + 1 }, (_, n) => a + n)));
  fc.assert(
    fc.property(small, small, (one, other) => {
      const lines = [...linesOf(one)].filter((line) => linesOf(other).has(line));
      expect(linesOf(sharedLines(one, other))).toEqual(new Set(lines));
    }),
  );
});

verifies('T-12', 'T-13').test(
  'hot is meeting lines or a conflict; the same change twice is neither; renames count on both names',
  () => {
    const same = { after: { mode: '100644', oid: 'same' } };
    expect(hot([change('a', [[1, 2]])], [change('a', [[2, 5]])])).toEqual([{ path: 'a', lines: [[2, 2]] }]);
    expect(hot([change('a', [[1, 2]])], [change('a', [[3, 5]])])).toEqual([]);
    expect(hot([change('a', [[1, 2]], same)], [change('a', [[1, 2]], same)])).toEqual([]);
    expect(hot([change('a', [[1, 1]])], [change('b', [[1, 1]])], ['z', 'a'])).toEqual([{ path: 'a' }, { path: 'z' }]);
    const renamed = change('new', [[1, 1]], { status: 'R', from: 'a' });
    expect(hot([renamed], [change('a', [[1, 1]])])).toEqual([{ path: 'a', lines: [[1, 1]] }]);
  },
);
