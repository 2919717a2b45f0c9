import { createHash } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Json } from '../../protocol/workflow.ts';
import type { JournalRow } from '../../store/journal-table.ts';
import type { Store } from '../../store/store.ts';
import type { Blobs } from '../memory/segment.ts';

export type JournalKind = 'start' | 'step' | 'wait' | 'answer' | 'child' | 'mismatch' | 'end';

export interface JournalEntry {
  n: number;
  at: string;
  kind: JournalKind;
  key: string;
  data: EntryData;
}

/** `value` is the input of a start, the result of a step or child, the question of a wait, the value of an answer. */
export interface EntryData {
  value?: Json;
  /** Thrown instead of a result. */
  error?: { code: string; message: string };
  /** Where its body met it, and the fingerprint of its input. Both must be the same at a replay. */
  place?: string;
  input?: string;
  name?: string;
  version?: number;
  until?: string;
  answerId?: string;
  isOver?: 'timeout' | 'cancelled';
  status?: 'completed' | 'failed' | 'cancelled';
}

export interface JournalDeps {
  store: Store;
  clock: Clock;
  /** Called with every entry once it is on the disk. Views, inbox and events follow it. */
  onEntry?(runId: string, entry: JournalEntry): void;
}

const PAGE = 500;
const LARGEST_ENTRY = 64 * 1024;

/** The entries of all runs. The first entry of a kind and key stays; nothing is changed or deleted. */
export class Journal {
  readonly #deps: JournalDeps;

  constructor(deps: JournalDeps) {
    this.#deps = deps;
  }

  find(runId: string, kind: JournalKind, key: string): JournalEntry | undefined {
    const row = this.#deps.store.journal.find(runId, kind, key);
    return row && this.#unpack(row);
  }

  *after(runId: string, n: number): Generator<JournalEntry> {
    for (let at = n; ; ) {
      const page = this.#deps.store.journal.after(runId, at, PAGE);
      for (const row of page) yield this.#unpack(row);
      at = page.at(-1)?.n ?? at;
      if (page.length < PAGE) return;
    }
  }

  /** Returns the entry of that kind and key: this one or an earlier one. `check` runs in the same transaction. */
  append(
    runId: string,
    { kind, key, data }: Pick<JournalEntry, 'kind' | 'key' | 'data'>,
    check?: () => void,
  ): JournalEntry {
    const { store, clock, onEntry } = this.#deps;
    const at = clock.now().toISOString();
    const n = store.commit(() => {
      check?.();
      return store.journal.append(runId, { at, kind, key, data: this.#pack(data) });
    });
    const entry = this.find(runId, kind, key);
    if (!entry) throw new ReefError('internal', `the journal lost ${kind} ${key}`);
    if (n !== undefined) onEntry?.(runId, entry);
    return entry;
  }

  /** A value too large for its entry is kept beside it, under the hash of its bytes. */
  #pack(data: EntryData): string {
    const whole = JSON.stringify(data);
    if (Buffer.byteLength(whole) <= LARGEST_ENTRY) return whole;
    const { value = null, ...rest } = data;
    const bytes = Buffer.from(JSON.stringify(value));
    const blob = addressOf(bytes);
    this.#deps.store.journal.putBlob(blob, bytes);
    return JSON.stringify({ ...rest, blob });
  }

  #unpack({ n, at, kind, key, data: packed }: JournalRow): JournalEntry {
    const { blob, ...data }: EntryData & { blob?: string } = JSON.parse(packed);
    if (blob !== undefined) data.value = JSON.parse(String(this.#deps.store.journal.getBlob(blob) ?? 'null'));
    return { n, at, kind: kind as JournalKind, key, data };
  }
}

/** Large content of segments, kept beside the journal under the hash of its bytes. */
export function journalBlobs(store: Store): Blobs {
  return {
    put(bytes) {
      const address = addressOf(bytes);
      store.commit(() => store.journal.putBlob(address, bytes));
      return address;
    },
    get(address) {
      const bytes = store.journal.getBlob(address);
      if (!bytes) throw new ReefError('internal', `the content ${address} is missing`);
      return bytes;
    },
  };
}

function addressOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
