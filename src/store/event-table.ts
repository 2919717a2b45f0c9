import type { AgentEvent } from '../protocol/events.ts';
import type { Sqlite } from './driver.ts';

interface EventRow {
  seq: number;
  at: string;
  job_id: string;
  type: AgentEvent['type'];
  payload: string;
}

export interface StoredEvent {
  at: string;
  jobId: string;
  type: AgentEvent['type'];
  payload: string;
}

const PAGE = 1_000;
const INSERT = 'INSERT INTO event (seq, at, job_id, type, payload) VALUES (?, ?, ?, ?, ?)';

/** The append-only log. `seq` counts without gaps: it is given inside the transaction that writes the row. */
export class EventTable {
  readonly #sql: Sqlite['prepare'];
  #lastSeq: number;
  /** When the last event was written, if that is known. */
  #lastAt = '';
  readonly logId: string;

  constructor({ prepare }: Sqlite) {
    this.#sql = prepare;
    this.#lastSeq = this.#readLast();
    const [row] = prepare<{ application_id: number }>('PRAGMA application_id').all();
    this.logId = (row?.application_id ?? 0).toString(16).padStart(8, '0');
  }

  /** Only inside a transaction of the store, which calls `rewind` when it rolls back. */
  append({ at, jobId, type, payload }: StoredEvent): number {
    this.#lastSeq += 1;
    this.#sql(INSERT).run(this.#lastSeq, at, jobId, type, payload);
    this.#keepMoment(this.#lastSeq, at);
    return this.#lastSeq;
  }

  /** An event of an earlier database, with its old number. */
  restore(event: { seq: number; timestamp: string; agentId: string; type: AgentEvent['type']; payload: object }): void {
    this.#sql(INSERT).run(event.seq, event.timestamp, event.agentId, event.type, JSON.stringify(event.payload));
    this.#keepMoment(event.seq, event.timestamp);
    this.#lastSeq = Math.max(this.#lastSeq, event.seq);
  }

  /** The first event of each moment: hundreds are written in one, and an index of all of them would cost a third of every write. */
  #keepMoment(seq: number, at: string): void {
    if (at === this.#lastAt) return;
    this.#sql('INSERT INTO moment (seq, at) VALUES (?, ?)').run(seq, at);
    this.#lastAt = at;
  }

  rewind(): void {
    this.#lastSeq = this.#readLast();
    this.#lastAt = '';
  }

  lastSeq(): number {
    return this.#lastSeq;
  }

  /** The first `seq` written at or after that instant; later clock jumps do not matter. */
  firstSeqSince(at: string): number | undefined {
    return this.#seq('SELECT min(seq) AS seq FROM moment WHERE at >= ?', at);
  }

  ofJob({ jobId, after, limit }: { jobId: string; after: number; limit: number }): AgentEvent[] {
    const sql = 'SELECT * FROM event WHERE job_id = ? AND seq > ? ORDER BY seq LIMIT ?';
    return this.#sql<EventRow>(sql).all(jobId, after, limit).map(toEvent);
  }

  ofAll({ after, limit }: { after: number; limit: number }): AgentEvent[] {
    return this.#sql<EventRow>('SELECT * FROM event WHERE seq > ? ORDER BY seq LIMIT ?').all(after, limit).map(toEvent);
  }

  /** Which files agents said they wrote: a line per edit, `path` and `from` as the job names them, from its folder. */
  editsAfter(after: number): { jobId: string; path: string; from: string | null }[] {
    const sql = `SELECT job_id AS jobId, payload ->> '$.path' AS path, payload ->> '$.from' AS "from" FROM event
      WHERE seq > ? AND type = 'file_edit' AND path IS NOT NULL`;
    return this.#sql<{ jobId: string; path: string; from: string | null }>(sql).all(after);
  }

  /** The model that an agent first said it uses. It says so at its beginning: the rest is not looked at. */
  modelOf(jobId: string): string | undefined {
    const sql = `SELECT payload ->> '$.model' AS model FROM (SELECT * FROM event WHERE job_id = ? ORDER BY seq LIMIT 50)
      WHERE type = 'progress' AND payload ->> '$.kind' = 'session' AND model IS NOT NULL LIMIT 1`;
    return this.#sql<{ model: string }>(sql).get(jobId)?.model;
  }

  /** Every event of a job, a page at a time: a statement left open would hold the database. */
  *allOf(jobId: string): Generator<AgentEvent> {
    for (let after = 0, isMore = true; isMore; ) {
      const events = this.ofJob({ jobId, after, limit: PAGE });
      yield* events;
      isMore = events.length === PAGE;
      after = events.at(-1)?.seq ?? after;
    }
  }

  /** The last events of a job, or the last ones before a `seq`; the oldest of them first. */
  tail(jobId: string, count: number, before = Number.MAX_SAFE_INTEGER): AgentEvent[] {
    const sql = 'SELECT * FROM event WHERE job_id = ? AND seq < ? ORDER BY seq DESC LIMIT ?';
    return this.#sql<EventRow>(sql).all(jobId, before, count).map(toEvent).reverse();
  }

  #readLast(): number {
    return this.#seq('SELECT max(seq) AS seq FROM event') ?? 0;
  }

  #seq(sql: string, ...values: string[]): number | undefined {
    return this.#sql<{ seq: number | null }>(sql).get(...values)?.seq ?? undefined;
  }
}

function toEvent({ seq, at, job_id, type, payload }: EventRow): AgentEvent {
  return { seq, timestamp: at, type, agentId: job_id, payload: JSON.parse(payload) } as AgentEvent;
}
