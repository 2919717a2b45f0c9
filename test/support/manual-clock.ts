import type { Clock } from '../../src/base/clock.ts';

export interface ManualClock extends Clock {
  /** Moves both clocks, waking sleepers in the order of their deadlines; a woken sleeper may sleep again within it. */
  advance(ms: number): Promise<void>;
  /** Moves the wall clock alone, as a person or NTP does. */
  jumpWall(ms: number): void;
  /** How many are asleep: what a test polls before it advances. */
  sleeping(): number;
}

interface Sleeper {
  due: number;
  wake(): void;
}

/** Time that moves only when a test says so. */
export function manualClock(start = new Date('2026-01-01T00:00:00.000Z')): ManualClock {
  let monotonic = 0;
  let wall = start.getTime();
  const sleepers = new Set<Sleeper>();

  const moveTo = (target: number) => {
    wall += target - monotonic;
    monotonic = target;
  };
  const earliest = () => [...sleepers].reduce<Sleeper | undefined>((a, b) => (a && a.due <= b.due ? a : b), undefined);

  return {
    now: () => new Date(wall),
    monotonicMs: () => monotonic,
    sleeping: () => sleepers.size,
    jumpWall(ms) {
      wall += ms;
    },
    sleep(ms, signal) {
      return new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        const abort = () => {
          sleepers.delete(sleeper);
          reject(signal?.reason);
        };
        const sleeper: Sleeper = {
          due: monotonic + Math.max(0, ms),
          wake() {
            sleepers.delete(sleeper);
            signal?.removeEventListener('abort', abort);
            resolve();
          },
        };
        signal?.addEventListener('abort', abort, { once: true });
        sleepers.add(sleeper);
      });
    },
    async advance(ms) {
      const target = monotonic + ms;
      for (let next = earliest(); next && next.due <= target; next = earliest()) {
        moveTo(Math.max(monotonic, next.due));
        next.wake();
        await new Promise((resolve) => setImmediate(resolve));
      }
      moveTo(target);
    },
  };
}
