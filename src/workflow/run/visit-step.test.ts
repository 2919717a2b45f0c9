import { expect } from 'vitest';
import { manualClock } from '../../../test/support/manual-clock.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { eventually } from '../../../test/support/wait.ts';
import { errorTable } from '../../protocol/error-table.ts';
import { ReefError } from '../../protocol/errors.ts';
import { tried } from './visit-step.ts';

const codes = Object.keys(errorTable) as (keyof typeof errorTable)[];
const abort = new AbortController().signal;

verifies('Q-43').test('an error that is terminal by the table is never tried again', async () => {
  const terminal = codes.filter((code) => !errorTable[code].retryable);
  const calls: string[] = [];
  for (const code of terminal) {
    const done = await tried({ clock: manualClock() }, { abort }, async () => {
      calls.push(code);
      throw new ReefError(code, 'no');
    });
    expect(done).toMatchObject({ crash: { code } });
  }
  expect(terminal.length).toBeGreaterThan(50);
  expect(calls).toEqual(terminal);
});

verifies('Q-43').test(
  'one that is retryable is tried again after pauses that double, of at most five minutes',
  async () => {
    const clock = manualClock();
    const at: number[] = [];
    const done = tried({ clock }, { abort }, async () => {
      at.push(clock.monotonicMs());
      throw new ReefError('storage_unavailable', 'no');
    });
    for (let tries = 1; tries < 10; tries++) {
      await eventually(
        () => clock.sleeping(),
        (sleeping) => sleeping === 1,
      );
      const before = at.length;
      await clock.advance(2 ** (tries - 1) * 1_000 - 1);
      expect(at.length).toBe(before);
      await clock.advance(1);
    }
    expect(await done).toMatchObject({ crash: { code: 'storage_unavailable' } });
    const pauses = at.slice(1).map((ms, n) => ms - (at[n] ?? 0));
    expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256].map((seconds) => seconds * 1_000));
    expect(Math.max(...pauses)).toBeLessThanOrEqual(300_000);
  },
);

verifies('Q-43').test(
  'what succeeds after a retryable error is the result, and an end that was asked for is no result',
  async () => {
    const clock = manualClock();
    let tries = 0;
    const done = tried({ clock }, { abort }, async () => {
      tries += 1;
      if (tries === 1) throw new ReefError('storage_unavailable', 'no');
      return tries;
    });
    await eventually(
      () => clock.sleeping(),
      (sleeping) => sleeping === 1,
    );
    await clock.advance(1_000);
    expect(await done).toEqual({ ok: 2 });

    const ending = new AbortController();
    const ended = tried({ clock }, { abort: ending.signal }, async () => {
      throw new ReefError('storage_unavailable', 'no');
    });
    await eventually(
      () => clock.sleeping(),
      (sleeping) => sleeping === 1,
    );
    ending.abort(new Error('the daemon ends'));
    await expect(ended).rejects.toThrow('the daemon ends');
  },
);
