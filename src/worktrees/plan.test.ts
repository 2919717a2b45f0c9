import fc from 'fast-check';
import { expect, test } from 'vitest';
import { verifies } from '../../test/support/verifies.ts';
import { compileGlob, matchesGlob } from '../base/glob.ts';
import { ReefError } from '../protocol/errors.ts';
import type { PlanEntry } from '../protocol/worktrees.ts';
import { addEntries, changedFiles, declaredPlan, driftOf, foldOf, meetings, planPath, touchedBy } from './plan.ts';

const exact = (path: string) => path.normalize('NFC');
const meet = (one: string[], other: string[]) => meetings(touchedBy(one, exact), touchedBy(other, exact));
const fits = (glob: string, path: string) =>
  matchesGlob(compileGlob(glob) ?? { text: '', isGlob: false, alternatives: [] }, path);

verifies('T-10').test('entries are stored with slashes, without dots, composed; a folder is all below it', () => {
  const given = ['./a.ts', 'src\\b.ts', 'src//x/./c.ts', 'docs/', 'caf\u0065\u0301.md', 'app/[id]/page.tsx', ' lead'];
  expect(given.map(planPath)).toEqual([
    { path: 'a.ts' },
    { path: 'src/b.ts' },
    { path: 'src/x/c.ts' },
    { path: 'docs/**' },
    { path: 'café.md' },
    { path: 'app/[id]/page.tsx' },
    { path: ' lead' },
  ]);
});

verifies('T-10').test('what cannot be a path of the repository is refused with its reason', () => {
  const bad = [
    '',
    '.',
    '../../base/',
    '/etc/passwd',
    '../x',
    'a/../../b',
    '.git/config',
    'a/.GIT/x',
    '.reef/x',
    'a\0b',
    'a\nb',
  ];
  const brace = `${'{a,b}'.repeat(7)}`;
  expect([...bad, brace, 'x'.repeat(5_000)].map((path) => 'why' in planPath(path))).toEqual(
    [...bad, brace, ''].map(() => true),
  );
  expect(() => declaredPlan(['ok.ts', '../x'])).toThrow(ReefError);
  expect(addEntries([], ['a', '../x', 'a', 'b'], 'discovered')).toEqual({
    entries: [
      { path: 'a', origin: 'discovered' },
      { path: 'b', origin: 'discovered' },
    ],
    refused: [{ path: '../x', why: 'contains ".."' }],
  });
});

test('an entry keeps the origin it came with, and a plan has an end', () => {
  const plan = addEntries([{ path: 'a', origin: 'declared' }], ['a', './a'], 'observed');
  const many = addEntries(
    [],
    Array.from({ length: 5_001 }, (_, n) => `f${n}`),
    'declared',
  );
  expect([plan.entries, many.entries.length, many.refused.length]).toEqual([
    [{ path: 'a', origin: 'declared' }],
    5_000,
    1,
  ]);
});

verifies('T-10').test('globs match as people write them', () => {
  const cases: [string, string, boolean][] = [
    ['src/*.ts', 'src/a.ts', true],
    ['src/*.ts', 'src/x/a.ts', false],
    ['src/**/*.ts', 'src/a.ts', true],
    ['src/**/*.ts', 'src/x/y/a.ts', true],
    ['**', 'any/thing', true],
    ['**/test/**', 'a/test/b', true],
    ['**/test/**', 'a/tests/b', false],
    ['a?c', 'abc', true],
    ['a?c', 'ac', false],
    ['*.{ts,tsx}', 'x.tsx', true],
    ['*.{ts,tsx}', 'x.js', false],
    ['{a,b}/{c,d}', 'b/c', true],
    ['{x}', '{x}', true],
    ['[id].ts', 'i.ts', false],
    ['.*/x', '.github/x', true],
    ['*a*b*', 'xxaxxbxx', true],
    ['*a*b*', 'xxbxxaxx', false],
  ];
  expect(cases.map(([glob, path]) => fits(glob, path))).toEqual(cases.map(([, , expected]) => expected));
});

test('a hostile glob takes no time', () => {
  const glob = `${'*a'.repeat(500)}/${'**/'.repeat(200)}b`;
  expect(fits(glob, `${'a'.repeat(2_000)}/${'x/'.repeat(300)}c`)).toBe(false);
});

verifies('T-10').test('plans meet by an equal path, a match, a folder around, or nested beginnings of globs', () => {
  expect(meet(['a.ts'], ['a.ts', 'b.ts'])).toEqual(['a.ts']);
  expect(meet(['a.ts'], ['b.ts'])).toEqual([]);
  expect(meet(['src/*.ts'], ['src/a.ts', 'lib/a.ts'])).toEqual(['src/a.ts']);
  expect(meet(['src/**'], ['src/x/**'])).toEqual(['src/x/**']);
  expect(meet(['src/*.ts'], ['lib/*.ts'])).toEqual([]);
  expect(meet(['src'], ['src/a.ts'])).toEqual(['src']);
  expect(meet(['src/a.ts'], ['src'])).toEqual(['src/a.ts']);
  expect(meet(['src'], ['src/x/*.ts'])).toEqual(['src']);
  expect(meet([], ['**'])).toEqual([]);
});

verifies('T-10').test('a changed file with a star in its name is no glob', () => {
  expect(meetings(changedFiles(['a*b'], exact), touchedBy(['axb'], exact))).toEqual([]);
  expect(meetings(changedFiles(['a*b'], exact), changedFiles(['a*b'], exact))).toEqual(['a*b']);
});

verifies('T-10').test('case counts only where the file system keeps it', async () => {
  const fold = await foldOf(import.meta.dirname);
  expect(fold('Å\u0308.TS')).toBe('Å\u0308.TS'.normalize('NFC'));
  const lower = (path: string) => path.toLowerCase();
  expect(meetings(touchedBy(['SRC/A.ts'], lower), touchedBy(['src/a.ts'], lower))).toEqual(['src/a.ts']);
});

test('meeting is mutual, and files in common always meet', () => {
  const part = fc.constantFrom('a', 'b', 'c', '*', '**', 'a*', '{a,b}');
  const entry = fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('/'));
  const file = fc
    .array(fc.constantFrom('a', 'b', 'ab', 'c'), { minLength: 1, maxLength: 3 })
    .map((parts) => parts.join('/'));
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 4 }), fc.array(entry, { maxLength: 4 }), file, (one, other, path) => {
      const both = [meet(one, other).length > 0, meet(other, one).length > 0];
      const isCommon = one.some((glob) => fits(glob, path)) && other.some((glob) => fits(glob, path));
      expect(both[0]).toBe(both[1]);
      if (isCommon) expect(both[0]).toBe(true);
    }),
    { numRuns: 500 },
  );
});

const declared = (...paths: string[]) => paths.map((path): PlanEntry => ({ path, origin: 'declared' }));

verifies('T-16').test('drift is what changed without being planned, and what was planned and did not change', () => {
  const plan: PlanEntry[] = [...declared('a.ts', 'lib/**', 'gone.ts'), { path: 'seen.ts', origin: 'observed' }];
  expect(driftOf(plan, ['a.ts', 'lib/x.ts', 'seen.ts', 'other.ts'], exact)).toEqual({
    unplanned: ['seen.ts', 'other.ts'],
    untouched: ['gone.ts'],
  });
});

verifies('T-16').test('a task that declared no plan cannot drift, and a folder covers what is in it', () => {
  expect(driftOf([], ['a.ts'], exact)).toEqual({ unplanned: [], untouched: [] });
  expect(driftOf(declared('src'), ['src/a.ts'], exact)).toEqual({ unplanned: [], untouched: [] });
});
