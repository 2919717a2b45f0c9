import { Interrupted } from '../../workflow/durable/live-run.ts';
import type { HostPaths } from './host-paths.ts';

/** One run under way in this process, with its children. */
export class FleetRun {
  readonly id: string;
  readonly paths: HostPaths;
  readonly ending = new AbortController();
  /** What this process walks of it: the run itself and its children, by their ids. */
  readonly walks = new Set<string>();
  /** Ends one child and not the run. */
  readonly children = new Map<string, AbortSignal>();
  /** What of it waits for a person, and since when. */
  readonly waits = new Map<string, number>();
  readonly #met = new Set<string>();
  readonly #underWay = new Set<Promise<unknown>>();

  constructor(id: string, paths: HostPaths) {
    this.id = id;
    this.paths = paths;
  }

  /** False when this walk has met it before. */
  meet(walk: string, entry: string): boolean {
    const name = `${walk} ${entry}`;
    const isNew = !this.#met.has(name);
    this.#met.add(name);
    return isNew;
  }

  /** A cancel waits for this work. */
  async track<T>(work: Promise<T>): Promise<T> {
    this.#underWay.add(work);
    try {
      return await work;
    } finally {
      this.#underWay.delete(work);
    }
  }

  beginWait(name: string, nowMs: number): void {
    this.waits.set(name, nowMs);
  }

  /** It has waited for a person since then, and nothing works for it. */
  isIdleSince(ms: number): boolean {
    return this.waits.size > 0 && this.#underWay.size === 0 && [...this.waits.values()].every((began) => began <= ms);
  }

  async settled(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay);
  }
}

/** What was let go of neither ends nor fails: DBOS would record that. */
export const never = () => new Promise<never>(() => undefined);

/** Rejects when the signal fires; otherwise resolves with the work. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const gone = Promise.withResolvers<never>();
  const stop = () => gone.reject(new Interrupted('let go', { cause: signal.reason }));
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await Promise.race([work, gone.promise]);
  } finally {
    signal.removeEventListener('abort', stop);
    work.catch(() => undefined); // nobody waits for it any more
  }
}
