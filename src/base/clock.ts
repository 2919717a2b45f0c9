import { setTimeout as wait } from 'node:timers/promises';

/** Wall time is for people, `monotonicMs` for every deadline: the wall clock may jump a day either way. */
export interface Clock {
  now(): Date;
  monotonicMs(): number;
  /** Rejects with the signal's reason when it is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** Node turns a longer timer into one of a millisecond. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => new Date(),
  monotonicMs: () => performance.now(),
  async sleep(ms, signal) {
    for (let left = ms; left >= 0; left -= LONGEST_TIMER_MS) {
      signal?.throwIfAborted();
      await wait(Math.min(left, LONGEST_TIMER_MS), undefined, signal ? { signal } : {}).catch((error: unknown) => {
        throw signal?.aborted ? signal.reason : error;
      });
    }
  },
};

const GAP_MS = 5_000;

/**
 * Counts only the time in which the loop was awake. A gap over 5 s between two ticks means that the process was stopped
 * or the machine asleep; it counts as one tick, so deadlines kept in awake time move with it.
 */
export class AwakeTime {
  readonly #tickMs: number;
  #last: number;
  #awake = 0;

  constructor(startMs: number, tickMs = 1_000) {
    this.#last = startMs;
    this.#tickMs = tickMs;
  }

  get awakeMs(): number {
    return this.#awake;
  }

  /** Takes a monotonic reading; returns the awake time so far. */
  tick(monotonicMs: number): number {
    const gap = Math.max(0, monotonicMs - this.#last);
    this.#awake += gap > GAP_MS ? this.#tickMs : gap;
    this.#last = Math.max(this.#last, monotonicMs);
    return this.#awake;
  }
}

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
