import { setImmediate } from 'node:timers/promises';

/**
 * Lets one through in each turn of the event loop, first come first served. Storing a batch is synchronous: thirty busy
 * jobs at once would otherwise hold up every answer for as long as all their batches take.
 */
export class Turnstile {
  #last: Promise<void> = Promise.resolve();

  pass(): Promise<void> {
    this.#last = this.#last.then(() => setImmediate());
    return this.#last;
  }
}
