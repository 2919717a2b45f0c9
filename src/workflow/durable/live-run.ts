import type { Clock } from '../../base/clock.ts';
import { type ErrorCode, errorTable } from '../../protocol/error-table.ts';
import { ReefError, toReefError } from '../../protocol/errors.ts';
import type { Store } from '../../store/store.ts';
import type { EntryData, Journal, JournalEntry, JournalKind } from './journal.ts';

/** The body is let go of: its run was cancelled, has ended, or now belongs to another process. Nothing is recorded. */
export class Interrupted extends Error {}

/** The journal and the program disagree about what happened. */
export class Mismatch extends Error {}

interface RunDeps {
  journal: Journal;
  store: Store;
  clock: Clock;
}

interface Met {
  key: string;
  place: string | undefined;
  input: string;
  /** Of a recorded entry, where it is not what the entry says. */
  inputOf?(data: EntryData): string;
}

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
    for (const entry of deps.journal.after(id, 0)) this.#notePlace(entry);
  }

  get clock(): Clock {
    return this.#deps.clock;
  }

  find(kind: JournalKind, key: string): JournalEntry | undefined {
    return this.#deps.journal.find(this.id, kind, key);
  }

  /** The entry of an earlier life, if it fits what the body asks for now. */
  recall(kind: JournalKind, met: Met): JournalEntry | undefined {
    const known = this.find(kind, met.key);
    const here = met.place === undefined ? undefined : this.#places.get(met.place);
    const isOther = here !== undefined && here !== `${kind} ${met.key}`;
    if (isOther) throw new Mismatch(`the journal has ${here} where the program has ${kind} ${met.key}`);
    if (known === undefined) return undefined;
    const input = met.inputOf?.(known.data) ?? known.data.input;
    if (input !== met.input) throw new Mismatch(`${kind} ${met.key} was recorded for another input`);
    if (met.place !== known.data.place) {
      throw new Mismatch(`${kind} ${met.key} was recorded at ${known.data.place}, not at ${met.place}`);
    }
    return known;
  }

  /** Returns the first entry of that kind and key. Waits while the store cannot write. */
  async record(kind: JournalKind, key: string, data: EntryData): Promise<JournalEntry> {
    for (let pause = FIRST_RETRY_MS; ; pause = Math.min(pause * 2, LONGEST_RETRY_MS)) {
      try {
        return this.#append(kind, key, data);
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

  /** A cancel waits for this work. */
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

  #append(kind: JournalKind, key: string, data: EntryData): JournalEntry {
    if (this.ending.signal.aborted) throw new Interrupted('let go', { cause: this.ending.signal.reason });
    const entry = this.#deps.journal.append(this.id, { kind, key, data }, () => {
      if (kind !== 'end' && this.find('end', '')) throw new Interrupted('the run has ended');
    });
    this.#notePlace(entry);
    return entry;
  }

  #notePlace({ kind, key, data }: JournalEntry): void {
    if (data.place !== undefined) this.#places.set(data.place, `${kind} ${key}`);
  }
}

export function toErrorData(error: unknown): { code: string; message: string } {
  const { code, message } = toReefError(error);
  return { code, message };
}

export function fromErrorData({ code, message }: { code: string; message: string }): ReefError {
  return new ReefError(Object.hasOwn(errorTable, code) ? (code as ErrorCode) : 'internal', message);
}
