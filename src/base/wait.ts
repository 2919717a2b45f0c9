import type { Clock } from './clock.ts';

/** Rejects with the signal's reason as soon as it is aborted. The work itself continues; its result is dropped. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work;
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

/** The result of the work if it settles in time, otherwise undefined. A failure of the work is passed on. */
export async function settledWithin<T>(clock: Clock, ms: number, work: Promise<T>): Promise<T | undefined> {
  const done = new AbortController();
  const late = clock.sleep(ms, done.signal).then(
    () => undefined,
    () => undefined,
  );
  try {
    return await Promise.race([work, late]);
  } finally {
    done.abort();
  }
}
