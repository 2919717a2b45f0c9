import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { leastOfMinutes, slope } from '../soak/samples.ts';
import { Soak } from '../soak/soak.ts';
import { scale, tier } from '../support/scale.ts';
import { verifies } from '../support/verifies.ts';

const MINUTES = scale('Q-90', { test: 0.3, faults: 8, soak: 60 });
const KILLS = 2;

verifies('Q-90')
  .needs(tier() !== 'test', 'minutes: npm run test:faults')
  .test(
    `${MINUTES} minutes of tasks, readers and kills: every task comes to its end, every event once, and nobody is left`,
    async () => {
      const soak = new Soak({
        minutes: MINUTES,
        tasksAMinute: 20,
        killEveryMinutes: MINUTES / (KILLS + 0.5),
        parent: tmpdir(),
      });
      const { tasks, kills, wrong, readers, leftovers } = await soak.run();
      const unread = readers.filter(({ events, lost, repeated }) => events === 0 || lost > 0 || repeated > 0);
      expect({ kills, wrong, unread, leftovers }).toEqual({ kills: KILLS, wrong: [], unread: [], leftovers: [] });
      expect(tasks).toBeGreaterThanOrEqual(Math.floor(MINUTES * 20));
    },
    120_000 + MINUTES * 90_000,
  );

const sample = (minute: number, rssMb: number) => ({ minute, rssMb, pid: 1, ageMinutes: minute, descriptors: 40 });

test('memory that grows shows as a slope, memory that is only collected late does not', () => {
  const minutes = Array.from({ length: 240 }, (_, n) => n / 4);
  const anHour = (rss: (minute: number) => number) =>
    60 *
    slope(
      leastOfMinutes(
        minutes.map((minute) => sample(minute, rss(minute))),
        ({ rssMb }) => rssMb,
      ),
    );
  expect(anHour((minute) => 100 + minute / 10)).toBeCloseTo(6, 1);
  expect(anHour((minute) => 100 + 40 * (minute % 1))).toBeCloseTo(0, 5);
  expect(slope([[1, 5]])).toBe(0);
});
