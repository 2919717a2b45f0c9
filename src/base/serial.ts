/** Lets `count` pieces of work run at once, one by default; the others wait in the order they came. */
export class Limiter {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(count = 1) {
    this.#free = count;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free += 1;
    }
  }
}

/** Work on the same key runs one piece after the other, in the order it was asked for; different keys do not wait. */
export class KeyedSerial {
  readonly #last = new Map<string, Promise<void>>();

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
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

  isBusy(key: string): boolean {
    return this.#last.has(key);
  }
}
