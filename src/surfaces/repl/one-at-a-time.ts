/** There is one terminal: whoever wants to ask there waits until the one before has its answer. */
export function oneAtATime(): <T>(work: () => Promise<T>, signal?: AbortSignal) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work, signal) => {
    const mine = last.then(() => {
      signal?.throwIfAborted();
      return work();
    });
    last = mine.catch(() => {});
    return mine;
  };
}
