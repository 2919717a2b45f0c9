import { z } from 'zod';
import type { Sqlite } from './driver.ts';

export const outboxRowSchema = z.strictObject({
  key: z.string(),
  jobId: z.string(),
  /** What the agent's acknowledgement will name: a message id or a request id. */
  ref: z.string(),
  /** `writing` marks a message longer than the pipe takes at once: a kill may have torn it. */
  state: z.enum(['new', 'writing', 'written', 'delivered', 'failed']),
  doc: z.unknown(),
});
export type OutboxRow<D = unknown> = Omit<z.infer<typeof outboxRowSchema>, 'doc'> & { doc: D };
export type OutboxState = OutboxRow['state'];

const SELECT = 'SELECT key, job_id AS jobId, ref, state, doc FROM outbox';

/** Everything an agent is sent is a row here before it is written, so that a kill loses nothing and repeats nothing. */
export class OutboxTable {
  readonly #sql: Sqlite['prepare'];

  constructor({ prepare }: Sqlite) {
    this.#sql = prepare;
  }

  /** False when the key is known: nothing was added. */
  insert({ key, jobId, ref, state, doc }: OutboxRow): boolean {
    const sql = 'INSERT INTO outbox (key, job_id, ref, state, doc) VALUES (?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING';
    return this.#sql(sql).run(key, jobId, ref, state, JSON.stringify(doc)).changes === 1;
  }

  move(key: string, state: OutboxState, doc?: unknown): void {
    const sql = 'UPDATE outbox SET state = ?, doc = coalesce(?, doc) WHERE key = ?';
    this.#sql(sql).run(state, doc === undefined ? null : JSON.stringify(doc), key);
  }

  get<D>(key: string): OutboxRow<D> | undefined {
    const row = this.#sql<OutboxRow<string>>(`${SELECT} WHERE key = ?`).get(key);
    return row && { ...row, doc: JSON.parse(row.doc) };
  }

  open<D>(jobId: string): OutboxRow<D>[] {
    const sql = `${SELECT} WHERE job_id = ? AND state IN ('new', 'writing', 'written') ORDER BY n`;
    const rows = this.#sql<OutboxRow<string>>(sql).all(jobId);
    return rows.map((row) => ({ ...row, doc: JSON.parse(row.doc) }));
  }
}
