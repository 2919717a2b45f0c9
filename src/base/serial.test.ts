import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Limiter } from './serial.ts';

test('so many work at once, in the order in which they came, and one that fails makes room as well', async () => {
  const two = new Limiter(2);
  const begun: number[] = [];
  let [working, most] = [0, 0];
  const work = async (at: number) => {
    begun.push(at);
    working += 1;
    most = Math.max(most, working);
    await setImmediate();
    working -= 1;
    if (at === 1) throw new Error('one fails');
    return at;
  };
  const all = await Promise.allSettled([0, 1, 2, 3, 4].map((at) => two.run(() => work(at))));
  expect([begun, most, working]).toEqual([[0, 1, 2, 3, 4], 2, 0]);
  expect(all.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled', 'fulfilled']);
});
