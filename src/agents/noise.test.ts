import fc from 'fast-check';
import { expect } from 'vitest';
import { verifies } from '../../test/support/verifies.ts';
import { admit } from './effects.ts';

const quiet = { minute: 0, shown: 0, hidden: 0 };

/** Lines, each in its minute; what was shown, and what was told of the others. */
function hear(minutes: number[]) {
  let noise = quiet;
  let shown = 0;
  const told: [line: number, count: number][] = [];
  for (const [line, minute] of minutes.entries()) {
    const admitted = admit(noise, minute);
    noise = admitted.noise;
    if (admitted.isShown) shown += 1;
    if (admitted.toTell > 0) told.push([line, admitted.toTell]);
  }
  return { shown, told, hidden: noise.hidden };
}

verifies('A-34', 'Q-61').test('twenty lines a minute are shown, the rest is counted and told once', () => {
  const lines = [...Array<number>(25).fill(7), ...Array<number>(3).fill(8)];
  expect(hear(lines)).toEqual({ shown: 23, told: [[25, 5]], hidden: 0 });
});

verifies('A-34').test('what was counted in the last minute waits for the end', () => {
  expect(hear(Array<number>(31).fill(7))).toEqual({ shown: 20, told: [], hidden: 11 });
});

verifies('A-34', 'Q-61').test('no line is lost: each is shown or counted', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(3), { maxLength: 200 }), (minutes) => {
      const ordered = minutes.toSorted((a, b) => a - b);
      const { shown, told, hidden } = hear(ordered);
      const counted = told.reduce((sum, [, count]) => sum + count, 0);
      expect(shown + counted + hidden).toBe(ordered.length);
    }),
  );
});
