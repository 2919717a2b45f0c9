import type { Clock } from '../base/clock.ts';
import type { EventLog } from '../events/event-log.ts';
import type { EventBody } from '../protocol/events.ts';
import type { Job } from '../protocol/jobs.ts';
import type { JobRecord } from '../store/job-table.ts';
import type { Store } from '../store/store.ts';
import type { JobRuntime } from './job-runtime.ts';
import { foldStatus, isLive } from './job-status.ts';

/** What a person allowed for good, for every job: kept with the user, not in the home. */
interface StandingGrants {
  has(fingerprint: string): boolean;
  add(grant: { fingerprint: string; tool: string; input: unknown; cwd: string; at: string; by: string }): Promise<void>;
}

export interface Books {
  store: Store;
  log: EventLog;
  clock: Clock;
  standing: StandingGrants;
}

/**
 * One change of one job: its events, status, runtime and offsets become true together. Made inside a transaction of the
 * store; the record it works on is a copy, so a rollback leaves nothing behind in memory.
 */
export class JobTransaction {
  job: Job;
  runtime: JobRuntime;
  readonly books: Books;
  #lastSeq: number | undefined;

  constructor(books: Books, record: JobRecord<JobRuntime>) {
    this.books = books;
    this.job = structuredClone(record.job);
    this.runtime = structuredClone(record.runtime);
  }

  now(): string {
    return this.books.clock.now().toISOString();
  }

  emit(body: EventBody): void {
    for (const event of this.books.log.append(this.job.id, [body])) {
      const before = { status: this.job.status, reason: this.job.reason, open: this.runtime.open };
      const { status, reason, open } = foldStatus(before, event, this.job);
      const { reason: _, ...rest } = this.job;
      this.job = reason === undefined ? { ...rest, status } : { ...rest, status, reason };
      this.runtime.open = open;
      this.#lastSeq = event.seq;
    }
  }

  warn(message: string): void {
    this.emit({ type: 'progress', payload: { kind: 'warning', message } });
  }

  /** Writes the record and returns it; call it last. */
  save(): JobRecord<JobRuntime> {
    const isOver = !isLive(this.job.status);
    const record = { job: this.job, runtime: this.runtime };
    this.books.store.jobs.update(record, isOver ? (this.#lastSeq ?? this.books.store.events.lastSeq()) : null);
    return record;
  }
}
