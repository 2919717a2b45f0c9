/** Whether a stretch of work has taken longer than it may. */
export type IsLate = () => boolean;

const FRESH_MS = 50;

/**
 * Bounds on the work of this thread. On a loaded machine a file waits for its turn, and that it was late would be kept as a fact
 * about it for ever: so the processor's time decides, and the clock on the wall only says when to look.
 */
export class ThreadClock {
  #asked = { at: Number.NEGATIVE_INFINITY, used: 0 };

  bound(ms: number): IsLate {
    const begun = performance.now();
    const used = this.#usedBefore(begun);
    return () => performance.now() - begun > ms && threadMs() - used > ms;
  }

  /** To ask for it takes as long as to parse a few lines, and there are many files: what was so a moment ago is near enough. */
  #usedBefore(now: number): number {
    if (now - this.#asked.at > FRESH_MS) this.#asked = { at: now, used: threadMs() };
    return this.#asked.used;
  }
}

/** Before Node 23.9 there is only the time of all threads together, which is never less. */
function threadMs(): number {
  const { user, system } = process.threadCpuUsage?.() ?? process.cpuUsage();
  return (user + system) / 1_000;
}

/** The same from outside, for a thread that can no longer tell: neither clock nor process has run so long before. */
export function processMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
