import { setTimeout as wait } from 'node:timers/promises';

/** Wall time is for people. Deadlines use `monotonicMs`, because the wall clock may jump. */
export interface Clock {
  now(): Date;
  monotonicMs(): number;
  /** Rejects with the signal's reason when it is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** Node shortens a longer timer to one millisecond. */
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

/** Time in which the event loop was awake. A gap over 5 s (the process was stopped or the machine slept) counts as one tick. */
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
