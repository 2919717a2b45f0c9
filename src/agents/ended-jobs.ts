import type { JobView } from '../protocol/job-operations.ts';
import type { Store } from '../store/store.ts';
import type { JobRuntime } from './job-runtime.ts';
import { viewJob } from './job-view.ts';

/** As they are shown, kept until one of them is written again: a list is asked for far more often than it changes. */
export class EndedJobs {
  readonly #store: Store;
  readonly #views = new Map<string, JobView>();

  constructor(store: Store) {
    this.#store = store;
    store.jobs.onWrite((id) => this.#views.delete(id));
  }

  /** The last ones, newest first. */
  last(count: number): JobView[] {
    const ids = this.#store.jobs.lastEndedIds(count);
    if (ids.some((id) => !this.#views.has(id))) this.#read(count);
    return ids.flatMap((id) => this.#views.get(id) ?? []);
  }

  #read(count: number): void {
    const records = this.#store.jobs.lastEnded<JobRuntime>(count);
    const known = new Map(this.#views);
    this.#views.clear();
    for (const record of records)
      this.#views.set(record.job.id, known.get(record.job.id) ?? viewJob(this.#store, record));
  }
}
