import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect } from 'vitest';
import { afterKill, afterPowerCut, killAt, killPoints, type Recorded, record } from '../support/crash/store-crashes.ts';
import type { Twin } from '../support/crash/store-writer.ts';
import { hasStrace, type SystemCall, stableName } from '../support/crash/system-calls.ts';
import { scale } from '../support/scale.ts';
import { disposableFolder, temporaryFolder } from '../support/temporary-folder.ts';
import { verifies } from '../support/verifies.ts';

/** Every write of the store, as strace saw it: killed at each, and with each that was not synced lost. */

const KILLS = scale('Q-14', { test: 8, faults: 250, soak: 511 });
const KILLED_IMAGES = scale('Q-14', { test: 150, faults: 2_000, soak: 2_000 });
const POWER_IMAGES = scale('Q-15', { test: 100, faults: 600, soak: 5_000 });

let root: string;
let recorded: Recorded;
let images = 0;
beforeAll(() => {
  if (hasStrace) recorded = record(disposableFolder().path);
});
beforeEach(() => {
  root = temporaryFolder();
});
const newImage = () => join(root, `image-${images++}`);

/** That many of all positions, evenly spread; from all of them when there are fewer. */
const spread = (most: number, all: number) =>
  Array.from({ length: Math.min(most, all) }, (_, n) => Math.floor(((n + 0.5) * all) / Math.min(most, all)));

/** The same dice each time, so that a failure comes again. */
function dice(seed: number): () => number {
  let state = seed + 1;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

async function killImages(of: Recorded, most: number): Promise<string[]> {
  const bad: string[] = [];
  for (const count of spread(most, of.changes.length + 1)) {
    const why = await afterKill(of, count, newImage());
    if (why !== undefined) bad.push(`after ${count} changes: ${why}`);
  }
  return bad;
}

/** At each moment all, none, and random halves of what was not synced are lost. */
async function powerImages(of: Recorded, most: number): Promise<{ bad: string[]; losing: number }> {
  const bad: string[] = [];
  let losing = 0;
  for (let n = 0; n < most; n++) {
    const roll = dice(n);
    const count = Math.floor(((n + 0.5) * (of.changes.length + 1)) / most);
    const share = [1, 0.5, 0.1, 0.9][n % 4] ?? 1;
    const { lost, bad: why } = await afterPowerCut(of, { count, isLost: () => roll() < share, into: newImage() });
    losing += lost > 0 ? 1 : 0;
    if (why !== undefined) bad.push(`after ${count} changes, ${lost} lost (${n}): ${why}`);
  }
  return { bad, losing };
}

/** Two threads may come in another order than when they were recorded: a kill that came elsewhere is aimed again. */
async function aimed(point: SystemCall): Promise<{ isFired: boolean; bad: string[] }> {
  const bad: string[] = [];
  for (let aims = 0; aims < 3; aims++) {
    const killed = await killAt(recorded, point, { dir: newImage(), count: point.nth });
    if (killed.bad !== undefined) bad.push(killed.bad);
    if (killed.fired) return { isFired: true, bad };
  }
  return { isFired: false, bad };
}

describe('the writer of the store', () => {
  verifies('Q-14')
    .needs(hasStrace, 'strace is not installed')
    .test('writes in every way there is, and its record is complete', async () => {
      const { changes, told } = recorded;
      const files = new Set(changes.flatMap((change) => ('path' in change ? [stableName(change.path)] : [])));
      const kinds = new Set(changes.map(({ does }) => does));
      expect([...files]).toEqual(expect.arrayContaining(['daemon.lock', 'reef.db', 'reef.db-wal', '.reef-tmp']));
      expect([...kinds].sort()).toEqual(['create', 'cut', 'remove', 'rename', 'say', 'sync', 'write']);
      expect(told.map(({ step }) => step)).toEqual(
        expect.arrayContaining(['migrate', 'spawn J', 'ingest 24', 'append long', 'prune', 'the last']),
      );
      expect(changes.length).toBeGreaterThan(200);
      expect(await afterKill(recorded, changes.length, newImage())).toBeUndefined();
    });

  verifies('Q-14', 'Q-02', 'Q-07')
    .needs(hasStrace, 'strace is not installed')
    .test(
      `left as a kill leaves it between any two of its writes, it holds a truth, ${KILLED_IMAGES} times at most`,
      async () => {
        expect(await killImages(recorded, KILLED_IMAGES)).toEqual([]);
      },
      60_000 + KILLED_IMAGES * 1_000,
    );

  verifies('Q-14', 'Q-11')
    .needs(hasStrace, 'strace is not installed')
    .test(
      `killed for real as it enters a call, ${KILLS} times at most: the kill comes where it was meant, and 0 states are bad`,
      async () => {
        const points = killPoints(recorded);
        const chosen = spread(KILLS, points.length).flatMap((n) => points[n] ?? []);
        const bad: string[] = [];
        let fired = 0;
        for (const point of chosen) {
          const { isFired, bad: why } = await aimed(point);
          fired += isFired ? 1 : 0;
          bad.push(...why.map((each) => `${point.name} ${point.nth}: ${each}`));
        }
        process.stdout.write(
          `${chosen.length} points of ${points.length}, ${fired} kills fired as meant, ${bad.length} bad\n`,
        );
        expect(bad).toEqual([]);
        expect(fired / chosen.length).toBeGreaterThanOrEqual(0.95);
      },
      60_000 + KILLS * 10_000,
    );

  verifies('Q-15', 'Q-03')
    .needs(hasStrace, 'strace is not installed')
    .test(
      `with any of its unsynced writes lost it holds a truth, and all that it had promised, in ${POWER_IMAGES} images`,
      async () => {
        const { bad, losing } = await powerImages(recorded, POWER_IMAGES);
        expect(bad).toEqual([]);
        expect(losing / POWER_IMAGES).toBeGreaterThan(0.5);
      },
      60_000 + POWER_IMAGES * 1_000,
    );
});

describe('known-bad twins', () => {
  const twins: [Twin, 'kill' | 'power'][] = [
    ['plain rewrite', 'kill'],
    ['offset apart', 'kill'],
    ['unsynced commit', 'power'],
  ];
  for (const [twin, how] of twins) {
    verifies('Q-96')
      .needs(hasStrace, 'strace is not installed')
      .test(`a store with a ${twin} is found out`, async () => {
        const bad = record(root, twin);
        const found = how === 'kill' ? await killImages(bad, 60) : (await powerImages(bad, 60)).bad;
        expect(found.length).toBeGreaterThan(0);
      });
  }

  verifies('Q-96')
    .needs(hasStrace, 'strace is not installed')
    .test('kills that are numbered over all threads come elsewhere, and that shows', async () => {
      const points = killPoints(recorded).filter(({ nth, merged }) => nth !== merged);
      const fired = [];
      for (const n of spread(3, points.length)) {
        const point = points[n];
        if (point) fired.push((await killAt(recorded, point, { dir: newImage(), count: point.merged })).fired);
      }
      expect(fired).toEqual([false, false, false]);
    });
});
