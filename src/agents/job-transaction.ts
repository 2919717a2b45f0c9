import type { Clock } from '../base/clock.ts';
import type { EventLog } from '../events/event-log.ts';
import { ReefError } from '../protocol/errors.ts';
import type { EventBody } from '../protocol/events.ts';
import type { Job } from '../protocol/jobs.ts';
import type { JobRecord } from '../store/job-table.ts';
import type { Store } from '../store/store.ts';
import type { JobRuntime } from './job-runtime.ts';
import { foldStatus, isLive } from './job-status.ts';

/** What a person has allowed for every job, for good. It is kept with the user, not in the home. */
interface SavedGrants {
  has(fingerprint: string): boolean;
  add(grant: {
    fingerprint: string;
    covers: string;
    tool: string;
    input: unknown;
    cwd: string;
    at: string;
    by: string;
  }): Promise<void>;
}

export interface JobStorage {
  store: Store;
  log: EventLog;
  clock: Clock;
  savedGrants: SavedGrants;
}

export function loadJob({ store }: Pick<JobStorage, 'store'>, id: string): JobRecord<JobRuntime> {
  const record = store.jobs.get<JobRuntime>(id);
  if (!record) throw new ReefError('job_not_found', `there is no job "${id}"`);
  return record;
}

/** Changes one job in a transaction of its own. */
export function changeJob<T>(storage: JobStorage, id: string, change: (tx: JobTransaction) => T): T {
  return storage.store.commit(() => {
    const tx = new JobTransaction(storage, loadJob(storage, id));
    const result = change(tx);
    tx.save();
    return result;
  });
}

/**
 * One change of one job: its events, status, runtime and offsets become true together. It is made inside a transaction of
 * the store. The record is its own from now on: one that was just loaded, so a rollback leaves nothing behind in memory.
 */
export class JobTransaction {
  job: Job;
  runtime: JobRuntime;
  readonly storage: JobStorage;
  #lastSeq: number | undefined;

  constructor(storage: JobStorage, record: JobRecord<JobRuntime>) {
    this.storage = storage;
    this.job = record.job;
    this.runtime = record.runtime;
  }

  now(): string {
    return this.storage.clock.now().toISOString();
  }

  emit(body: EventBody): void {
    for (const event of this.storage.log.append(this.job.id, [body])) {
      const before = { status: this.job.status, reason: this.job.reason, open: this.runtime.open };
      const { status, reason, open } = foldStatus(before, event, this.job);
      this.runtime.open = open;
      this.#lastSeq = event.seq;
      if (status === before.status && reason === before.reason) continue;
      const { reason: _, ...rest } = this.job;
      this.job = reason === undefined ? { ...rest, status } : { ...rest, status, reason };
    }
  }

  warn(message: string): void {
    this.emit({ type: 'progress', payload: { kind: 'warning', message } });
  }

  /** Writes the record and returns it; call it last. */
  save(): JobRecord<JobRuntime> {
    const isOver = !isLive(this.job.status);
    const record = { job: this.job, runtime: this.runtime };
    this.storage.store.jobs.update(record, isOver ? (this.#lastSeq ?? this.storage.store.events.lastSeq()) : null);
    return record;
  }
}
