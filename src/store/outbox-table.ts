import type { Sqlite } from './driver.ts';

/** `writing` marks a message longer than the pipe takes at once: a kill may have torn it. */
export type OutboxState = 'new' | 'writing' | 'written' | 'delivered' | 'failed';

export interface OutboxRow<D = unknown> {
  key: string;
  jobId: string;
  /** What the agent's acknowledgement will name: a message id or a request id. */
  ref: string;
  state: OutboxState;
  doc: D;
}

interface Row {
  key: string;
  job_id: string;
  ref: string;
  state: OutboxState;
  doc: string;
}

/** Everything an agent is sent is a row here before it is written, so that a kill loses nothing and repeats nothing. */
export class OutboxTable {
  readonly #insert;
  readonly #move;
  readonly #get;
  readonly #open;

  constructor(database: Sqlite) {
    this.#insert = database.prepare(
      'INSERT INTO outbox (key, job_id, ref, state, doc) VALUES (?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING',
    );
    this.#move = database.prepare('UPDATE outbox SET state = ?, doc = coalesce(?, doc) WHERE key = ?');
    this.#get = database.prepare('SELECT * FROM outbox WHERE key = ?');
    this.#open = database.prepare(
      "SELECT * FROM outbox WHERE job_id = ? AND state IN ('new', 'writing', 'written') ORDER BY n",
    );
  }

  /** False: that key is known, nothing was added. */
  insert(row: OutboxRow): boolean {
    return this.#insert.run(row.key, row.jobId, row.ref, row.state, JSON.stringify(row.doc)).changes === 1;
  }

  move(key: string, state: OutboxState, doc?: unknown): void {
    this.#move.run(state, doc === undefined ? null : JSON.stringify(doc), key);
  }

  get<D>(key: string): OutboxRow<D> | undefined {
    const row = this.#get.get(key);
    return row === undefined ? undefined : toRow<D>(row);
  }

  open<D>(jobId: string): OutboxRow<D>[] {
    return this.#open.all(jobId).map((row) => toRow<D>(row));
  }
}

function toRow<D>(value: unknown): OutboxRow<D> {
  const row = value as Row;
  return { key: row.key, jobId: row.job_id, ref: row.ref, state: row.state, doc: JSON.parse(row.doc) };
}
