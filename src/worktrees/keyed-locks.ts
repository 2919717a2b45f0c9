/** Work on one thing goes one after the other, in the order it was asked for; work on different things does not wait. */
export class KeyedLocks {
  readonly #last = new Map<string, Promise<void>>();

  async hold<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    const { promise: done, resolve: release } = Promise.withResolvers<void>();
    this.#last.set(key, done);
    await before;
    try {
      return await work();
    } finally {
      release();
      if (this.#last.get(key) === done) this.#last.delete(key);
    }
  }

  isHeld(key: string): boolean {
    return this.#last.has(key);
  }
}
