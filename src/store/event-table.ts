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

/** The append-only log. `seq` counts without gaps: it is given inside the transaction that writes the row. */
export class EventTable {
  readonly #insert;
  readonly #last;
  readonly #first;
  readonly #firstSince;
  readonly #ofJob;
  readonly #tail;
  #lastSeq: number;

  constructor(database: Sqlite) {
    this.#insert = database.prepare('INSERT INTO event (seq, at, job_id, type, payload) VALUES (?, ?, ?, ?, ?)');
    this.#last = database.prepare('SELECT max(seq) AS seq FROM event');
    this.#first = database.prepare('SELECT min(seq) AS seq FROM event');
    this.#firstSince = database.prepare('SELECT min(seq) AS seq FROM event WHERE at >= ?');
    this.#ofJob = database.prepare('SELECT * FROM event WHERE job_id = ? AND seq > ? ORDER BY seq LIMIT ?');
    this.#tail = database.prepare('SELECT * FROM event WHERE job_id = ? ORDER BY seq DESC LIMIT ?');
    this.#lastSeq = this.#readLast();
  }

  /** Only inside a transaction of the store, which calls `rewind` when it rolls back. */
  append(event: StoredEvent): number {
    this.#lastSeq += 1;
    this.#insert.run(this.#lastSeq, event.at, event.jobId, event.type, event.payload);
    return this.#lastSeq;
  }

  /** An event of an earlier database, in its old place. */
  restore(event: { seq: number; timestamp: string; agentId: string; type: AgentEvent['type']; payload: object }): void {
    this.#insert.run(event.seq, event.timestamp, event.agentId, event.type, JSON.stringify(event.payload));
    this.#lastSeq = Math.max(this.#lastSeq, event.seq);
  }

  rewind(): void {
    this.#lastSeq = this.#readLast();
  }

  lastSeq(): number {
    return this.#lastSeq;
  }

  firstSeq(): number {
    return (this.#first.get() as { seq: number | null }).seq ?? 1;
  }

  /** The first `seq` written at or after that instant; later clock jumps do not matter. */
  firstSeqSince(at: string): number | undefined {
    return (this.#firstSince.get(at) as { seq: number | null }).seq ?? undefined;
  }

  ofJob(query: { jobId: string; after: number; limit: number }): AgentEvent[] {
    return (this.#ofJob.all(query.jobId, query.after, query.limit) as EventRow[]).map(toEvent);
  }

  /** All of them, a page at a time: a statement left open would hold the database. */
  *allOf(jobId: string): Generator<AgentEvent> {
    for (let after = 0, isMore = true; isMore; ) {
      const events = this.ofJob({ jobId, after, limit: PAGE });
      yield* events;
      isMore = events.length === PAGE;
      after = events.at(-1)?.seq ?? after;
    }
  }

  tail(jobId: string, count: number): AgentEvent[] {
    return (this.#tail.all(jobId, count) as EventRow[]).map(toEvent).reverse();
  }

  #readLast(): number {
    return (this.#last.get() as { seq: number | null }).seq ?? 0;
  }
}

function toEvent(row: EventRow): AgentEvent {
  const { seq, at, job_id, type, payload } = row;
  return { seq, timestamp: at, type, agentId: job_id, payload: JSON.parse(payload) } as AgentEvent;
}
