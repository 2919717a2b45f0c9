import type { Clock } from '../../base/clock.ts';

/** What a promise gives within that time; undefined when it takes longer. Its failure is passed on. */
export async function settledWithin<T>(clock: Clock, ms: number, promise: Promise<T>): Promise<T | undefined> {
  const enough = new AbortController();
  const late = clock.sleep(ms, enough.signal).then(
    () => undefined,
    () => undefined,
  );
  try {
    return await Promise.race([promise, late]);
  } finally {
    enough.abort();
  }
}
