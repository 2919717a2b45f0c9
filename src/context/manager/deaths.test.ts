import { expect } from 'vitest';
import { verifies } from '../../../test/verifies.ts';
import { Deaths } from './deaths.ts';
import { TIMINGS } from './timings.ts';

const SECOND = 1_000;

verifies('C-077').test('deaths that follow each other are waited for longer, and a quiet minute forgives', () => {
  const deaths = new Deaths(TIMINGS);
  const waits = [0, 50, 100, 150, 300].map((at) => deaths.note('/a', at * SECOND));
  expect([waits, deaths.note('/b', 0), deaths.unavailableFor('/a', 300 * SECOND)]).toEqual([
    [200, 1_000, 5_000, 5_000, 200],
    200,
    0,
  ]);
});

verifies('C-077').test(
  'the third death within a minute makes it unavailable for a minute, for this worktree alone',
  () => {
    const deaths = new Deaths(TIMINGS);
    const waits = [0, 1, 59].map((at) => deaths.note('/a', at * SECOND));
    const left = [59, 118, 119].map((at) => deaths.unavailableFor('/a', at * SECOND));
    expect([waits, left, deaths.unavailableFor('/b', 0)]).toEqual([[200, 1_000, 60_000], [60_000, 1_000, 0], 0]);
    deaths.forget('/a');
    expect(deaths.unavailableFor('/a', 60 * SECOND)).toBe(0);
  },
);
