import { expect } from 'vitest';
import { verifies } from '../../test/support/verifies.ts';
import { compileGlob, matchesGlob } from '../base/glob.ts';
import { addEntries, changedFiles, driftOf, isPlanned, MOST_STEPS, meetings, touchedBy } from './plan.ts';

const same = (path: string) => path;
/** Names that fit a pattern but for their last character, which is where matching costs most. */
const name = (n: number) => `${'a'.repeat(240)}${n}`;
const files = Array.from({ length: 5_000 }, (_, n) => `src/${name(n)}`);
const hostile = Array.from({ length: 900 }, (_, n) => `**/*${'a'.repeat(n % 200)}*b${n}`);

verifies('X-139').test(
  'patterns and files of an agent cost a bounded number of steps, and what is left counts as met',
  () => {
    const steps = { left: MOST_STEPS };
    const met = meetings(touchedBy(hostile, same), changedFiles(files, same), steps);
    // The last comparison may take as long as its own two texts.
    expect(steps.left).toBeGreaterThan(-100_000);
    expect(met).toHaveLength(1);
    expect(hostile).toContain(met[0]);
  },
);

verifies('X-139').test('what was not compared any more is not planned', () => {
  const steps = { left: MOST_STEPS };
  const planned = touchedBy(hostile, same);
  expect(files.some((path) => isPlanned(planned, path, steps))).toBe(false);
  expect(steps.left).toBeLessThanOrEqual(0);
  const plan = hostile.map((path) => ({ path, origin: 'declared' as const }));
  expect(driftOf(plan, files, same).unplanned).toEqual(files);
});

verifies('X-139').test('a plan has a thousand patterns at most, counted with their alternatives', () => {
  const braces = Array.from({ length: 100 }, (_, n) => `src/{a,b,c,d}{a,b,c,d}/${n}.ts`);
  const { entries, refused } = addEntries([], braces, 'declared');
  expect([entries.length, refused.length]).toEqual([62, 38]);
  expect(refused[0]?.why).toBe('is more than the 1000 patterns a plan can have');
  expect(addEntries([], files, 'declared').refused).toEqual([]);
});

verifies('X-139').test('a list of braces is given up after 64 alternatives, however long it is', () => {
  expect(compileGlob('{a,b}'.repeat(800))).toBeUndefined();
  expect(compileGlob(`{${'a,'.repeat(2_000)}b}`)).toBeUndefined();
  const steps = { left: 10 };
  const pattern = compileGlob('*a*a*a*b');
  expect([pattern && matchesGlob(pattern, 'a'.repeat(200), steps), steps.left < 0]).toEqual([true, true]);
});
