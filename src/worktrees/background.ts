import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';

/** Work that ends with the manager. */
export class Background {
  readonly #ending = new AbortController();
  readonly #work = new Set<Promise<void>>();
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

  /** Work somebody waits for, which must have ended all the same before the manager has. */
  track<T>(work: Promise<T>): Promise<T> {
    const ended = work.then(
      () => undefined,
      () => undefined,
    );
    this.#work.add(ended);
    void ended.then(() => this.#work.delete(ended));
    return work;
  }

  /** False: the manager is ending. */
  async sleep(ms: number): Promise<boolean> {
    await this.#clock.sleep(ms, this.#ending.signal).catch((error: unknown) => {
      if (!this.isEnding) throw error;
    });
    return !this.isEnding;
  }

  /** Lets what has begun come to its end: a half-made worktree is slower to mend than to finish. */
  async close(): Promise<void> {
    this.#ending.abort();
    while (this.#work.size > 0) await Promise.all(this.#work);
  }
}
