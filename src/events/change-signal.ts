/**
 * Wakes whoever waits for the next change. It carries no data: readers pull from the log by cursor, so a slow one
 * grows no buffer and misses nothing.
 */
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

  get waiting(): number {
    return this.#waiting.size;
  }
}
