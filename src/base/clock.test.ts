import { expect, test } from 'vitest';
import { manualClock } from '../../test/support/manual-clock.ts';
import { verifies } from '../../test/support/verifies.ts';
import { AwakeTime, systemClock } from './clock.ts';

verifies('Q-70').test('a wall clock that jumps a day either way moves neither deadlines nor sleepers', async () => {
  const clock = manualClock(new Date('2026-03-01T12:00:00.000Z'));
  let woken = false;
  const sleeper = clock.sleep(1_000).then(() => {
    woken = true;
  });
  clock.jumpWall(86_400_000);
  await clock.advance(999);
  const early = { woken, monotonic: clock.monotonicMs(), wall: clock.now().toISOString() };
  clock.jumpWall(-2 * 86_400_000);
  await clock.advance(1);
  await sleeper;
  expect([early, { woken, monotonic: clock.monotonicMs(), wall: clock.now().toISOString() }]).toEqual([
    { woken: false, monotonic: 999, wall: '2026-03-02T12:00:00.999Z' },
    { woken: true, monotonic: 1_000, wall: '2026-02-28T12:00:01.000Z' },
  ]);
});

verifies('Q-71').test('a gap over 5 s counts as one tick, so that deadlines move with it', () => {
  const awake = new AwakeTime(10_000);
  const counted = [11_000, 12_000, 17_000, 86_412_000, 86_413_000].map((reading) => awake.tick(reading));
  expect(counted).toEqual([1_000, 2_000, 7_000, 8_000, 9_000]);
  expect(awake.awakeMs).toBe(9_000);
});

verifies('Q-71').test('a stopped process leaves a gap of another size only by its own tick', () => {
  const awake = new AwakeTime(0, 250);
  expect([awake.tick(5_000), awake.tick(10_001), awake.tick(9_000), awake.tick(10_002)]).toEqual([
    5_000, 5_250, 5_250, 5_251,
  ]);
});

test('sleepers wake in the order of their deadlines, and may sleep again within one advance', async () => {
  const clock = manualClock();
  const woken: string[] = [];
  const every = async (name: string, ms: number, times: number) => {
    for (let n = 1; n <= times; n++) {
      await clock.sleep(ms);
      woken.push(`${name}${n}@${clock.monotonicMs()}`);
    }
  };
  const all = Promise.all([every('a', 30, 2), every('b', 20, 3)]);
  expect(clock.sleeping()).toBe(2);
  await clock.advance(60);
  await all;
  expect(woken).toEqual(['b1@20', 'a1@30', 'b2@40', 'a2@60', 'b3@60']);
  expect(clock.sleeping()).toBe(0);
});

test('an aborted sleep rejects with the reason and forgets the sleeper', async () => {
  const clock = manualClock();
  const controller = new AbortController();
  const reason = new Error('closing');
  const asleep = [clock.sleep(1_000, controller.signal), systemClock.sleep(60_000, controller.signal)];
  controller.abort(reason);
  const settled = await Promise.allSettled([
    ...asleep,
    clock.sleep(1, controller.signal),
    systemClock.sleep(1, controller.signal),
  ]);
  expect(settled).toEqual(Array.from({ length: 4 }, () => ({ status: 'rejected', reason })));
  expect(clock.sleeping()).toBe(0);
});

test('the system clock sleeps at least as long as asked, by the monotonic clock', async () => {
  const before = systemClock.monotonicMs();
  await systemClock.sleep(20);
  await systemClock.sleep(-5);
  expect(systemClock.monotonicMs() - before).toBeGreaterThanOrEqual(19);
  expect(Math.abs(systemClock.now().getTime() - Date.now())).toBeLessThan(1_000);
});

test('a sleep longer than a timer can hold does not end at once', async () => {
  const controller = new AbortController();
  const asleep = systemClock.sleep(2 ** 33, controller.signal);
  const first = await Promise.race([asleep, systemClock.sleep(20).then(() => 'still asleep')]);
  controller.abort(new Error('enough'));
  await expect(asleep).rejects.toThrow('enough');
  expect(first).toBe('still asleep');
});
