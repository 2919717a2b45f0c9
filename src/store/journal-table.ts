import type { Sqlite } from './driver.ts';

export interface JournalRow {
  n: number;
  at: string;
  kind: string;
  key: string;
  /** JSON of at most 64 KiB; what is larger is a blob. */
  data: string;
}

/**
 * What happened in each run, in order, once: a kind and key is recorded one time. The schema refuses to change or delete
 * an entry. Only inside a transaction of the store.
 */
export class JournalTable {
  readonly #append;
  readonly #find;
  readonly #after;
  readonly #unfinished;
  readonly #openWaits;
  readonly #attempt;
  readonly #putBlob;
  readonly #getBlob;

  constructor(database: Sqlite) {
    this.#append = database.prepare(
      `INSERT INTO journal (run_id, n, at, kind, key, data)
       VALUES (?, (SELECT coalesce(max(n), 0) + 1 FROM journal WHERE run_id = ?), ?, ?, ?, ?)
       ON CONFLICT (run_id, kind, key) DO NOTHING RETURNING n`,
    );
    this.#find = database.prepare(
      'SELECT n, at, kind, key, data FROM journal WHERE run_id = ? AND kind = ? AND key = ?',
    );
    this.#after = database.prepare(
      'SELECT n, at, kind, key, data FROM journal WHERE run_id = ? AND n > ? ORDER BY n LIMIT ?',
    );
    const ended = "(SELECT 1 FROM journal e WHERE e.run_id = j.run_id AND e.kind = 'end')";
    this.#unfinished = database.prepare(
      `SELECT run_id FROM journal j WHERE kind = 'start' AND NOT EXISTS ${ended} ORDER BY run_id`,
    );
    this.#openWaits = database.prepare(
      `SELECT run_id AS runId, n, at, kind, key, data FROM journal j WHERE kind = 'wait' AND NOT EXISTS ${ended}
       AND NOT EXISTS (SELECT 1 FROM journal a WHERE a.run_id = j.run_id AND a.kind = 'answer' AND a.key = j.key)
       ORDER BY run_id, n`,
    );
    this.#attempt = database.prepare(
      `INSERT INTO journal_attempt (run_id, key, attempt) VALUES (?, ?, 1)
       ON CONFLICT (run_id, key) DO UPDATE SET attempt = attempt + 1 RETURNING attempt`,
    );
    this.#putBlob = database.prepare('INSERT INTO journal_blob (address, bytes) VALUES (?, ?) ON CONFLICT DO NOTHING');
    this.#getBlob = database.prepare('SELECT bytes FROM journal_blob WHERE address = ?');
  }

  /** The place it was given; undefined when that kind and key is recorded already. */
  append(runId: string, entry: Omit<JournalRow, 'n'>): number | undefined {
    const { at, kind, key, data } = entry;
    return (this.#append.get(runId, runId, at, kind, key, data) as { n: number } | undefined)?.n;
  }

  find(runId: string, kind: string, key: string): JournalRow | undefined {
    return this.#find.get(runId, kind, key) as JournalRow | undefined;
  }

  after(runId: string, n: number, limit: number): JournalRow[] {
    return this.#after.all(runId, n, limit) as JournalRow[];
  }

  unfinished(): string[] {
    return (this.#unfinished.all() as { run_id: string }[]).map((row) => row.run_id);
  }

  /** Questions nobody has answered yet, of runs that still go on. */
  openWaits(): (JournalRow & { runId: string })[] {
    return this.#openWaits.all() as (JournalRow & { runId: string })[];
  }

  /** Counts how often a step was begun: outside the journal, so that a repeat leaves no trace in it. */
  beginAttempt(runId: string, key: string): number {
    return (this.#attempt.get(runId, key) as { attempt: number }).attempt;
  }

  putBlob(address: string, bytes: Uint8Array): void {
    this.#putBlob.run(address, bytes);
  }

  getBlob(address: string): Buffer | undefined {
    return (this.#getBlob.get(address) as { bytes: Buffer } | undefined)?.bytes;
  }
}
