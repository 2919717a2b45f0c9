import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';

/** Work that the manager waits for when it closes. */
export class Background {
  readonly #ending = new AbortController();
  readonly #work = new Set<Promise<unknown>>();
  readonly #clock: Clock;
  readonly #log: Logger;

  constructor(clock: Clock, log: Logger) {
    this.#clock = clock;
    this.#log = log;
  }

  get isEnding(): boolean {
    return this.#ending.signal.aborted;
  }

  run(name: string, work: () => Promise<unknown>): void {
    if (this.isEnding) return;
    void this.track(work().catch((error: unknown) => this.#log.error(`${name} failed`, { error })));
  }

  /** For work that somebody awaits. The manager waits for it too. */
  track<T>(work: Promise<T>): Promise<T> {
    const settled = Promise.allSettled([work]);
    this.#work.add(settled);
    void settled.then(() => this.#work.delete(settled));
    return work;
  }

  /** False: the manager is ending. */
  async sleep(ms: number): Promise<boolean> {
    await this.#clock.sleep(ms, this.#ending.signal).catch((error: unknown) => {
      if (!this.isEnding) throw error;
    });
    return !this.isEnding;
  }

  /** What has begun is finished: a half-made worktree is slower to mend than to finish. */
  async close(): Promise<void> {
    this.#ending.abort();
    while (this.#work.size > 0) await Promise.all(this.#work);
  }
}
