import { expect } from 'vitest';
import { verifies } from '../../../test/support/verifies.ts';
import { ThreadClock } from './time-bound.ts';

function until(isMet: () => boolean, limitMs: number): boolean {
  for (const end = performance.now() + limitMs; performance.now() < end; ) if (isMet()) return true;
  return false;
}

verifies('C-015').test('only work counts towards the bound of a parse, not the wait for a turn', () => {
  const isLate = new ThreadClock().bound(100);
  // The thread sleeps: the clock runs, the processor is somebody else's.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
  expect(isLate()).toBe(false);
  expect(until(isLate, 20_000)).toBe(true);
});
