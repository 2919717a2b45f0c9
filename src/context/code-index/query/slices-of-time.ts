import { setImmediate as breathe } from 'node:timers/promises';

const SLICE_MS = 20;

/** Interrupts long work, so that other questions are answered in between. */
export class SlicesOfTime {
  #end = performance.now() + SLICE_MS;

  async pause(signal?: AbortSignal): Promise<void> {
    if (performance.now() < this.#end) return;
    await breathe();
    signal?.throwIfAborted();
    this.#end = performance.now() + SLICE_MS;
  }
}
