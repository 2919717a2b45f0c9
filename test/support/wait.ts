import { setTimeout as sleep } from 'node:timers/promises';

interface Patience<T> {
  /** What is waited for, as a failure tells it. */
  what?: string;
  withinMs?: number;
  everyMs?: number;
  /** What a failure shows, where the last look alone says too little. */
  explain?(last: T): unknown;
}

/** Looks until what it sees is as wanted, and resolves with that; fails with what it saw last. */
export async function eventually<T>(
  look: () => T | Promise<T>,
  isMet: (seen: T) => boolean,
  { what, withinMs = 60_000, everyMs = 10, explain = (last) => last }: Patience<T> = {},
): Promise<T> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const seen = await look();
    if (isMet(seen)) return seen;
    if (performance.now() > deadline) {
      const last = await explain(seen);
      const shown = typeof last === 'string' ? last : JSON.stringify(last);
      throw new Error(`Not within ${withinMs} ms: ${what ?? isMet}\n${shown}`);
    }
    await sleep(everyMs);
  }
}

/** Resolves with the first value that is neither undefined nor false. */
export async function until<T>(
  what: string,
  probe: () => T | undefined | false | Promise<T | undefined | false>,
  withinMs = 60_000,
): Promise<T> {
  const isThere = (value: T | undefined | false) => value !== undefined && value !== false;
  return (await eventually(probe, isThere, { what, withinMs })) as T;
}
