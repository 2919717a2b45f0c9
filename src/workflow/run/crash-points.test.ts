import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect } from 'vitest';
import { COMPILED } from '../../../test/support/compile-cache.ts';
import { scale } from '../../../test/support/scale.ts';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { crashBench, drive, Faults, story, type Twin } from '../../../test/support/workflow/crash-bench.ts';
import { run } from '../../process/run.ts';
import type { Json } from '../../protocol/workflow.ts';

let dir: string;
beforeEach(() => {
  dir = temporaryFolder();
});

class Died extends Error {}
const die = () => {
  throw new Died('the process died here');
};
const never = () => new Faults(() => false, die);

/** One life: to the end, or to the moment of death. */
async function live(at: string, faults: Faults, twin: Twin = 'none'): Promise<void> {
  const bench = crashBench(at, faults, twin);
  const life = drive(bench).catch((error) => {
    if (!faults.isDead) throw error;
  });
  // Who waits for a view learns nothing more from a dead engine.
  const death = new Promise<void>((resolve) => {
    const look = setInterval(() => {
      if (!faults.isDead) return;
      clearInterval(look);
      resolve();
    }, 2);
    void life.finally(() => clearInterval(look));
  });
  await Promise.race([life, death]);
  await bench.engine.close();
  bench.store.close();
}

async function lastLife(at: string, twin: Twin = 'none'): Promise<Json> {
  const bench = crashBench(at, never(), twin);
  await drive(bench);
  const told = await story(bench, at);
  await bench.close();
  return told;
}

async function undisturbed(): Promise<{ told: Json; moments: string[] }> {
  const faults = never();
  const bench = crashBench(join(dir, 'undisturbed'), faults);
  await drive(bench);
  const told = await story(bench, join(dir, 'undisturbed'));
  await bench.close();
  return { told, moments: faults.hits };
}

/** Moments of every kind, evenly taken from all. */
function sample(moments: string[], count: number): string[] {
  const named = moments.filter((name) => !name.startsWith('before commit'));
  return named.filter(
    (_, n) => Math.floor((n * count) / named.length) !== Math.floor(((n - 1) * count) / named.length),
  );
}

verifies('W-78', 'W-77', 'W-70').test(
  'killed at any of its moments a run ends as an undisturbed one, every effect once',
  async () => {
    const { told, moments } = await undisturbed();
    expect(moments.length).toBeGreaterThan(100);
    const chosen = sample(moments, scale('W-78', { test: 20, faults: 1_000, soak: 1_000 }));
    for (const [n, moment] of chosen.entries()) {
      const at = join(dir, String(n));
      const faults = new Faults((name) => name === moment, die);
      await live(at, faults);
      expect([moment, faults.isDead]).toEqual([moment, true]);
      expect({ moment, told: await lastLife(at) }).toEqual({ moment, told });
      rmSync(at, { recursive: true });
    }
  },
  600_000,
);

verifies('W-78').test(
  'killed again and again at random moments it still ends the same',
  async () => {
    const { told } = await undisturbed();
    let seed = 20_260_101;
    const random = (below: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
      return seed % below;
    };
    let deaths = 0;
    for (let n = 0; n < scale('W-78', { test: 5, faults: 100, soak: 1_000 }); n++) {
      const at = join(dir, `random-${n}`);
      for (let lives = 0; lives < 20; lives++) {
        const last = 1 + random(40);
        const faults = new Faults((_, nth) => nth === last, die);
        await live(at, faults);
        deaths += faults.isDead ? 1 : 0;
      }
      expect(await lastLife(at)).toEqual(told);
      rmSync(at, { recursive: true });
    }
    expect(deaths).toBeGreaterThan(40);
  },
  600_000,
);

verifies('W-78', 'Q-41').test(
  'kill -9 of the real process at 30 named moments: the next process ends the run as an undisturbed one',
  async () => {
    const { told, moments } = await undisturbed();
    const chosen = sample(moments, scale('W-78', { test: 32, faults: 200, soak: 1_000 }));
    expect(chosen.length).toBeGreaterThanOrEqual(30);
    const program = new URL('../../../test/support/workflow/crash-bench.ts', import.meta.url).pathname;
    for (const [n, moment] of chosen.entries()) {
      const at = join(dir, `killed-${n}`);
      const env = { PATH: '/usr/bin:/bin', NODE_COMPILE_CACHE: COMPILED };
      const { signal, stderr } = await run({
        file: process.execPath,
        args: [program, at, moment],
        cwd: dir,
        env,
        timeoutMs: 60_000,
      });
      expect([moment, signal, stderr.toString()]).toEqual([moment, 'SIGKILL', '']);
      expect({ moment, told: await lastLife(at) }).toEqual({ moment, told });
      rmSync(at, { recursive: true });
    }
  },
  600_000,
);

const KILLED_RUNS = scale('Q-40', { test: 2, faults: 100, soak: 5_000 });
const MOST_LIVES = 25;

/** One life of the real process, killed so long after it has opened its store unless it came to the end before, and how long it was. */
async function killedLife(at: string, afterMs: number): Promise<{ isKilled: boolean; ms: number }> {
  const program = new URL('../../../test/support/workflow/crash-bench.ts', import.meta.url).pathname;
  const env = { PATH: '/usr/bin:/bin', NODE_COMPILE_CACHE: COMPILED };
  const child = spawn(process.execPath, [program, at, 'never'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  await Promise.race([once(child.stdout, 'data'), ended]);
  const opened = performance.now();
  const timer = setTimeout(() => child.kill('SIGKILL'), afterMs);
  const [code, signal] = (await ended) as [number | null, NodeJS.Signals | null];
  clearTimeout(timer);
  expect([code, signal]).toEqual(signal === null ? [0, null] : [null, 'SIGKILL']);
  return { isKilled: signal === 'SIGKILL', ms: performance.now() - opened };
}

verifies('Q-40').test(
  `${KILLED_RUNS} runs whose process is killed again and again end as an undisturbed one, each effect once`,
  async () => {
    const { told } = await undisturbed();
    // How fast the machine is decides when a kill still meets work.
    const whole = await killedLife(join(dir, 'whole'), 60_000);
    let kills = 0;
    for (let n = 0; n < KILLED_RUNS; n++) {
      const at = join(dir, `often-${n}`);
      for (let lives = 0; lives < MOST_LIVES; lives++) {
        const { isKilled } = await killedLife(at, whole.ms * (0.2 + ((kills * 137) % 400) / 1_000));
        if (!isKilled) break;
        kills += 1;
      }
      expect({ n, told: await lastLife(at) }).toEqual({ n, told });
      rmSync(at, { recursive: true });
    }
    process.stdout.write(`${KILLED_RUNS} runs, ${kills} kills\n`);
    expect(kills).toBeGreaterThanOrEqual(KILLED_RUNS);
  },
  60_000 + KILLED_RUNS * 60_000,
);

const twins: [twin: Twin, moment: string][] = [
  ['jobs that forget their keys', 'after spawn run/main/Main__Write#1/job'],
  ['a writer that does not look first', 'after write a.txt'],
];
for (const [twin, moment] of twins) {
  verifies('W-77').test(`the comparison turns red on ${twin}`, async () => {
    const { told } = await undisturbed();
    const at = join(dir, 'twin');
    const faults = new Faults((name) => name === moment, die);
    await live(at, faults, twin);
    expect([faults.isDead, JSON.stringify(await lastLife(at, twin)) === JSON.stringify(told)]).toEqual([true, false]);
  });
}
