/** The work has taken longer than it may. */
export type IsLate = () => boolean;

const FRESH_MS = 50;

/** Bounds work by processor time: a timeout is stored as a fact about the file and must not depend on the load. */
export class ThreadClock {
  #asked = { at: Number.NEGATIVE_INFINITY, used: 0 };

  bound(ms: number): IsLate {
    const begun = performance.now();
    const used = this.#usedBefore(begun);
    return () => performance.now() - begun > ms && threadMs() - used > ms;
  }

  /** Reading the processor time costs as much as parsing a few lines, so a recent value is used again. */
  #usedBefore(now: number): number {
    if (now - this.#asked.at > FRESH_MS) this.#asked = { at: now, used: threadMs() };
    return this.#asked.used;
  }
}

/** Before Node 23.9 there is only the time of all threads together. */
function threadMs(): number {
  return milliseconds(process.threadCpuUsage?.() ?? process.cpuUsage());
}

/** For a thread that no longer answers: the processor time of the whole process. */
export function processMs(): number {
  return milliseconds(process.cpuUsage());
}

function milliseconds({ user, system }: NodeJS.CpuUsage): number {
  return (user + system) / 1_000;
}
