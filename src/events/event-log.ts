import { capRedacted } from '../base/cap.ts';
import type { Clock } from '../base/clock.ts';
import { redactEnd, redactStart } from '../base/redact.ts';
import { ReefError } from '../protocol/errors.ts';
import { type AgentEvent, type EventBody, eventBodySchema } from '../protocol/events.ts';

const PAYLOAD_CAP = 64 * 1024;
const RAW_LENGTH = 1024;

/** What the log needs of a store; the SQLite table is one. */
export interface EventRows {
  /** Of this log and no other: one that is begun anew has another. */
  logId: string;
  append(event: { at: string; jobId: string; type: AgentEvent['type']; payload: string }): number;
  firstSeqSince(at: string): number | undefined;
  lastSeq(): number;
  ofJob(query: { jobId: string; after: number; limit: number }): AgentEvent[];
  ofAll(query: { after: number; limit: number }): AgentEvent[];
  tail(jobId: string, count: number, before: number): AgentEvent[];
}

export interface Page {
  events: AgentEvent[];
  nextCursor: string;
  truncated: boolean;
}

/** Append-only: every event with its time, read in pages by cursor. */
export class EventLog {
  readonly #rows: EventRows;
  readonly #clock: Clock;
  readonly #redact: <T>(value: T) => T;

  constructor(deps: { rows: EventRows; clock: Clock; redact: <T>(value: T) => T }) {
    this.#rows = deps.rows;
    this.#clock = deps.clock;
    this.#redact = deps.redact;
  }

  /** For what is kept or shown beside the events. Redact before you cut, or half a secret would slip through. */
  redact<T>(value: T): T {
    return this.#redact(value);
  }

  /** The first or (`length` below 0) the last characters of a text, redacted before it is cut. What is left out costs nothing. */
  excerpt(text: string, length: number): string {
    if (length < 0) return redactEnd(this.#redact, text, -length).slice(length);
    return redactStart(this.#redact, text, length).start.slice(0, length);
  }

  /** Call it inside a transaction: events, status and file offset are one commit. */
  append(jobId: string, bodies: EventBody[]): AgentEvent[] {
    const timestamp = this.#clock.now().toISOString();
    return bodies.map((body) => {
      const { type, payload: whole } = this.#checked(body);
      const { payload, json } = capRedacted(whole, PAYLOAD_CAP, this.#redact);
      const seq = this.#rows.append({ at: timestamp, jobId, type, payload: json });
      return { seq, timestamp, agentId: jobId, type, payload } as AgentEvent;
    });
  }

  /** The `seq` after which a cursor reads on. */
  after(since: string | undefined): number {
    const cursor = parseCursor(since);
    if ('after' in cursor) return this.#known(cursor);
    return (this.#rows.firstSeqSince(cursor.at) ?? this.#rows.lastSeq() + 1) - 1;
  }

  /** A place in this log. */
  cursor(seq: number): string {
    return `${seq}.${this.#rows.logId}`;
  }

  /** Of another log, or further than anything written here: it was given before the home was reset, and would hide what has happened since. */
  #known({ after, log }: { after: number; log?: string }): number {
    const last = this.#rows.lastSeq();
    const isOurs = log === undefined || log === this.#rows.logId;
    if (isOurs && after <= last) return after;
    if (!isOurs)
      throw new ReefError('cursor_unknown', `The cursor ${after}.${log} is of an earlier log.`, { details: { last } });
    throw new ReefError('cursor_unknown', `The cursor ${after} lies beyond the last event, ${last}.`, {
      details: { last },
    });
  }

  /** Of one job or of all. A `seq` is exclusive, an instant inclusive: read by time a page may repeat events, but it loses none. */
  slice(query: { jobId?: string; since?: string | undefined; limit: number }): Page {
    const { jobId } = query;
    const after = this.after(query.since);
    const wanted = { after, limit: query.limit + 1 };
    const found = jobId === undefined ? this.#rows.ofAll(wanted) : this.#rows.ofJob({ jobId, ...wanted });
    const events = found.slice(0, query.limit);
    const nextCursor = this.cursor(events.at(-1)?.seq ?? after);
    return { events, nextCursor, truncated: found.length > events.length };
  }

  /** The last events before a `seq`, oldest first: who opens a long log begins at its end. */
  before(query: { jobId: string; before: number; limit: number }): Page {
    const found = this.#rows.tail(query.jobId, query.limit + 1, query.before);
    const events = found.slice(-query.limit);
    return { events, nextCursor: this.cursor(events.at(-1)?.seq ?? 0), truncated: found.length > events.length };
  }

  /** An event that breaks its own schema is a defect of Reef: the log says so instead of losing or trusting it. */
  #checked(body: EventBody): EventBody {
    const result = eventBodySchema.safeParse(body);
    if (result.success) return body;
    const [issue] = result.error.issues;
    const message = `${body.type}: ${issue?.path.join('.') ?? ''} ${issue?.message ?? ''}`;
    const raw = this.excerpt(JSON.stringify(body.payload ?? null), RAW_LENGTH);
    const payload = { code: 'bad_event', message, fatal: false, scope: 'line', retryable: false, raw } as const;
    return { type: 'error', payload };
  }
}

/** Where a reader stands: after a `seq`, of a certain log if it says so, or at an instant. */
export type Cursor = { after: number; log?: string } | { at: string };

const SEQ = /^(\d{1,15})(?:\.([0-9a-f]{8}))?$/;
const ISO = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})?)?$/;

export function parseCursor(since: string | undefined): Cursor {
  if (since === undefined) return { after: 0 };
  const [, seq, log] = SEQ.exec(since) ?? [];
  if (seq !== undefined) return { after: Number(seq), ...(log !== undefined && { log }) };
  const time = ISO.test(since) ? Date.parse(since) : Number.NaN;
  if (Number.isNaN(time))
    throw new ReefError('bad_cursor', `"${since.slice(0, 64)}" is neither a cursor nor an ISO-8601 time`);
  return { at: new Date(time).toISOString() };
}

/** Another place in the log of a cursor. */
export function cursorBeside(cursor: string, seq: number): string {
  return cursor.replace(/^\d+/, String(seq));
}
