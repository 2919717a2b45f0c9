import type { Clock } from '../../base/clock.ts';
import { fingerprint } from '../../base/fingerprint.ts';
import { type ErrorCode, errorTable } from '../../protocol/error-table.ts';
import { ReefError, toReefError } from '../../protocol/errors.ts';
import type { Json } from '../../protocol/workflow.ts';
import type { Store } from '../../store/store.ts';
import type { EntryData, JournalEntry, JournalKind } from './durable-engine.ts';
import { packData, unpackEntry } from './journal-codec.ts';

/** The body is let go of: the run was cancelled, has ended, or belongs to another process now. Nothing is recorded. */
export class Interrupted extends Error {}

/** The journal tells another story than the program. */
export class Mismatch extends Error {}

export interface RunDeps {
  store: Store;
  clock: Clock;
  /** After the entry is on the disk. */
  onEntry(runId: string, entry: JournalEntry): void;
}

interface Met {
  key: string;
  place: string | undefined;
  input: string;
}

const PAGE = 500;
const FIRST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 300_000;

/** One run under way: its journal, and everything that may wake or end it. */
export class LiveRun {
  readonly id: string;
  readonly ending = new AbortController();
  readonly #deps: RunDeps;
  readonly #places = new Map<string, string>();
  readonly #waiters = new Map<string, () => void>();
  readonly #underWay = new Set<Promise<unknown>>();

  constructor(id: string, deps: RunDeps) {
    this.id = id;
    this.#deps = deps;
    for (let page = this.#page(0); page.length > 0; page = this.#page(page.at(-1)?.n ?? 0)) {
      for (const { key, kind, data } of page)
        if (data.place !== undefined) this.#places.set(data.place, `${kind} ${key}`);
    }
  }

  get clock(): Clock {
    return this.#deps.clock;
  }

  find(kind: JournalKind, key: string): JournalEntry | undefined {
    const row = this.#deps.store.journal.find(this.id, kind, key);
    return row && unpackEntry(this.#deps.store.journal, row);
  }

  /** The entry of an earlier life, if it fits what the body asks for now. */
  recall(kind: JournalKind, met: Met): JournalEntry | undefined {
    const known = this.find(kind, met.key);
    const here = met.place === undefined ? undefined : this.#places.get(met.place);
    const isOther = here !== undefined && here !== `${kind} ${met.key}`;
    if (isOther) throw new Mismatch(`the journal has ${here} where the program has ${kind} ${met.key}`);
    if (known === undefined) return undefined;
    if (known.data.input !== met.input) throw new Mismatch(`${kind} ${met.key} was recorded for another input`);
    if (met.place !== known.data.place) {
      throw new Mismatch(`${kind} ${met.key} was recorded at ${known.data.place}, not at ${met.place}`);
    }
    return known;
  }

  /** The first entry of a kind and key stays; it is what comes back. Waits out a store that cannot write for a while. */
  async record(kind: JournalKind, key: string, data: EntryData): Promise<JournalEntry> {
    for (let pause = FIRST_RETRY_MS; ; pause = Math.min(pause * 2, LONGEST_RETRY_MS)) {
      try {
        return this.#commit(kind, key, data);
      } catch (error) {
        if (!(error instanceof ReefError && error.retryable)) throw error;
        await this.clock.sleep(pause, this.ending.signal).catch((cause) => {
          throw new Interrupted('let go while the store could not write', { cause });
        });
      }
    }
  }

  beginAttempt(key: string): number {
    const { store } = this.#deps;
    // Not synced: a repeat is told by its effect key, the number is for people.
    return store.record(() => store.journal.beginAttempt(this.id, key));
  }

  /** Resolves at the next answer to the key. */
  answered(key: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const stop = () => {
        this.#waiters.delete(key);
        reject(new Interrupted('let go while waiting', { cause: signal.reason }));
      };
      if (signal.aborted) return stop();
      signal.addEventListener('abort', stop, { once: true });
      this.#waiters.set(key, () => {
        this.#waiters.delete(key);
        signal.removeEventListener('abort', stop);
        resolve();
      });
    });
  }

  wake(key: string): void {
    this.#waiters.get(key)?.();
  }

  /** What a cancel waits for. */
  async track<T>(work: Promise<T>): Promise<T> {
    this.#underWay.add(work);
    try {
      return await work;
    } finally {
      this.#underWay.delete(work);
    }
  }

  async settled(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay);
  }

  #commit(kind: JournalKind, key: string, data: EntryData): JournalEntry {
    const { store, clock, onEntry } = this.#deps;
    const { journal } = store;
    if (this.ending.signal.aborted) throw new Interrupted('let go', { cause: this.ending.signal.reason });
    const at = clock.now().toISOString();
    const n = store.commit(() => {
      if (kind !== 'end' && journal.find(this.id, 'end', '')) throw new Interrupted('the run has ended');
      return journal.append(this.id, { at, kind, key, data: packData(journal, data) });
    });
    const entry = this.find(kind, key);
    if (!entry) throw new ReefError('internal', `the journal lost ${kind} ${key}`);
    if (entry.data.place !== undefined) this.#places.set(entry.data.place, `${kind} ${key}`);
    if (n !== undefined) onEntry(this.id, entry);
    return entry;
  }

  #page(after: number): JournalEntry[] {
    const { journal } = this.#deps.store;
    return journal.after(this.id, after, PAGE).map((row) => unpackEntry(journal, row));
  }
}

export function toErrorData(error: unknown): { code: string; message: string } {
  const { code, message } = toReefError(error);
  return { code, message };
}

export function fromErrorData({ code, message }: { code: string; message: string }): ReefError {
  return new ReefError(Object.hasOwn(errorTable, code) ? (code as ErrorCode) : 'internal', message);
}

export function hashOf(input: Json): string {
  return fingerprint(input);
}
