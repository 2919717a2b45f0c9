import { type Clock, systemClock } from '../base/clock.ts';

/** A waiting reader looks again at least this often: a missed notification costs a second, not for ever. */
const LOOK_AGAIN_MS = 1_000;

export interface WaitOptions<T> {
  isMet(seen: T): boolean;
  timeoutMs?: number;
  signal?: AbortSignal | undefined;
  clock?: Clock;
}

/** Wakes everyone who waits for a change. It carries no data: readers pull by cursor, so a slow one fills no buffer. */
export class ChangeSignal {
  readonly #waiting = new Set<() => void>();

  notify(): void {
    for (const wake of [...this.#waiting]) wake();
  }

  /** Resolves at the next change, when the time is up, or when the caller is gone. */
  next(timeoutMs: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', wake);
        this.#waiting.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, timeoutMs);
      signal?.addEventListener('abort', wake, { once: true });
      this.#waiting.add(wake);
      if (signal?.aborted) wake();
    });
  }

  /** Looks now and after every change until the condition holds, the time is up or the caller is gone. Returns the last look. */
  async until<T>(look: () => T | Promise<T>, options: WaitOptions<T>): Promise<T> {
    const { isMet, timeoutMs = Number.POSITIVE_INFINITY, signal, clock = systemClock } = options;
    const deadline = clock.monotonicMs() + timeoutMs;
    for (;;) {
      const seen = await look();
      const left = deadline - clock.monotonicMs();
      if (isMet(seen) || left <= 0 || signal?.aborted) return seen;
      await this.next(Math.min(left, LOOK_AGAIN_MS), signal);
    }
  }

  get waiting(): number {
    return this.#waiting.size;
  }
}
