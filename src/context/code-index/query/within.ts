/** A parse that has begun in time is waited for so much longer: it takes milliseconds, but a busy machine may hold it up. */
const GRACE_MS = 3_000;

/** What comes about then, else nothing: what was begun goes on, and the next asker finds it done. */
export async function within<T>(work: Promise<T>, end: number): Promise<T | undefined> {
  const { promise: timeUp, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(resolve, Math.max(0, end - performance.now()) + GRACE_MS, undefined);
  work.catch(() => {}); // nobody may be left to hear of it
  try {
    return await Promise.race([work, timeUp]);
  } finally {
    clearTimeout(timer);
  }
}
