import type { Changes } from './changes.ts';
import type { Sqlite } from './driver.ts';

export interface JournalRow {
  n: number;
  at: string;
  kind: string;
  key: string;
  /** JSON of at most 64 KiB; what is larger is a blob. */
  data: string;
}

export interface JournalRun {
  runId: string;
  status: string;
  startedAt: string;
}

const ENDED = "(SELECT 1 FROM journal e WHERE e.run_id = j.run_id AND e.kind = 'end')";

/**
 * What happened in each run, in order. Each kind and key is recorded once, and the schema refuses to change an entry, or to
 * delete one of a run that is kept. Use it only inside a transaction of the store.
 */
export class JournalTable {
  readonly #sql: Sqlite['prepare'];
  readonly #changes: Changes;

  constructor({ prepare }: Sqlite, changes: Changes) {
    this.#sql = prepare;
    this.#changes = changes;
  }

  /** The number of the entry; undefined when that kind and key is recorded already. */
  append(runId: string, { at, kind, key, data }: Omit<JournalRow, 'n'>): number | undefined {
    this.#changes.tell({ kind: 'run', id: runId });
    if (kind === 'wait' || kind === 'answer') this.#changes.tell({ kind: 'inbox', id: runId });
    return this.#sql<{ n: number }>(
      `INSERT INTO journal (run_id, n, at, kind, key, data)
       VALUES (?, (SELECT coalesce(max(n), 0) + 1 FROM journal WHERE run_id = ?), ?, ?, ?, ?)
       ON CONFLICT (run_id, kind, key) DO NOTHING RETURNING n`,
    ).get(runId, runId, at, kind, key, data)?.n;
  }

  /** An entry of an earlier database, with its old number. */
  restore(runId: string, { n, at, kind, key, data }: JournalRow): void {
    const sql = 'INSERT INTO journal (run_id, n, at, kind, key, data) VALUES (?, ?, ?, ?, ?, ?)';
    this.#sql(sql).run(runId, n, at, kind, key, data);
  }

  find(runId: string, kind: string, key: string): JournalRow | undefined {
    const sql = 'SELECT n, at, kind, key, data FROM journal WHERE run_id = ? AND kind = ? AND key = ?';
    return this.#sql<JournalRow>(sql).get(runId, kind, key);
  }

  after(runId: string, n: number, limit: number): JournalRow[] {
    const sql = 'SELECT n, at, kind, key, data FROM journal WHERE run_id = ? AND n > ? ORDER BY n LIMIT ?';
    return this.#sql<JournalRow>(sql).all(runId, n, limit);
  }

  /** The number of its last entry; 0 if it has none. */
  lastOf(runId: string): number {
    return this.#sql<{ n: number | null }>('SELECT max(n) AS n FROM journal WHERE run_id = ?').get(runId)?.n ?? 0;
  }

  unfinished(): string[] {
    const sql = `SELECT run_id FROM journal j WHERE kind = 'start' AND NOT EXISTS ${ENDED} ORDER BY run_id`;
    return this.#sql<{ run_id: string }>(sql)
      .all()
      .map((row) => row.run_id);
  }

  /** Runs that have begun, in the order of their ids. */
  runs({ after, status, limit }: { after: string; status: string | undefined; limit: number }): JournalRun[] {
    return this.#sql<JournalRun>(
      `SELECT * FROM (SELECT j.run_id AS runId, j.at AS startedAt, coalesce((SELECT json_extract(e.data, '$.status')
         FROM journal e WHERE e.run_id = j.run_id AND e.kind = 'end'), 'running') AS status
       FROM journal j WHERE j.kind = 'start' AND j.run_id > ?) WHERE ? IS NULL OR status = ? ORDER BY runId LIMIT ?`,
    ).all(after, status ?? null, status ?? null, limit);
  }

  /** Questions without an answer, of runs that have not ended. */
  openWaits(): (JournalRow & { runId: string })[] {
    return this.#sql<JournalRow & { runId: string }>(
      `SELECT run_id AS runId, n, at, kind, key, data FROM journal j WHERE kind = 'wait' AND NOT EXISTS ${ENDED}
       AND NOT EXISTS (SELECT 1 FROM journal a WHERE a.run_id = j.run_id AND a.kind = 'answer' AND a.key = j.key)
       ORDER BY run_id, n`,
    ).all();
  }

  /** Runs that wait for an answer and do not go on by themselves at some time. */
  waitingForPerson(): Set<string> {
    const forPerson = this.openWaits().filter(({ data }) => JSON.parse(data).until === undefined);
    return new Set(forPerson.map(({ runId }) => runId));
  }

  /** Counts how often a step was begun: outside the journal, so that a repeat leaves no trace in it. */
  beginAttempt(runId: string, key: string): number {
    const sql = `INSERT INTO journal_attempt (run_id, key, attempt) VALUES (?, ?, 1)
       ON CONFLICT (run_id, key) DO UPDATE SET attempt = attempt + 1 RETURNING attempt`;
    return this.#sql<{ attempt: number }>(sql).get(runId, key)?.attempt ?? 1;
  }

  putBlob(address: string, bytes: Uint8Array): void {
    this.#sql('DELETE FROM retired WHERE id = ?').run(address); // it is named again
    this.#sql('INSERT INTO journal_blob (address, bytes) VALUES (?, ?) ON CONFLICT DO NOTHING').run(address, bytes);
  }

  getBlob(address: string): Buffer | undefined {
    return this.#sql<{ bytes: Buffer }>('SELECT bytes FROM journal_blob WHERE address = ?').get(address)?.bytes;
  }
}
