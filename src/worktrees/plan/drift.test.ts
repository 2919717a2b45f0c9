import { expect } from 'vitest';
import { verifies } from '../../../test/support/verifies.ts';
import type { PlanEntry } from '../../protocol/worktrees.ts';
import { driftOf } from './drift.ts';

const exact = (path: string) => path;
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
