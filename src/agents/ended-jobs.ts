import type { JobView } from '../protocol/job-operations.ts';
import type { Store } from '../store/store.ts';
import type { JobRuntime } from './job-runtime.ts';
import { viewJob } from './job-view.ts';

interface Kept {
  view: JobView;
  version: number;
}

/** As they are shown, kept until one of them is written again: a list is asked for far more often than it changes. */
export class EndedJobs {
  readonly #store: Store;
  #kept = new Map<string, Kept>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** The last ones, newest first. */
  last(count: number): JobView[] {
    const { jobs } = this.#store;
    const ids = jobs.lastEndedIds(count);
    const isKnown = (id: string) => this.#kept.get(id)?.version === jobs.version(id);
    if (!ids.every(isKnown)) {
      const records = jobs.lastEnded<JobRuntime>(count).map((record) => ({ record, id: record.job.id }));
      const read = records.map(({ record, id }): [string, Kept] => {
        const known = isKnown(id) ? this.#kept.get(id) : undefined;
        return [id, known ?? { view: viewJob(this.#store, record), version: jobs.version(id) }];
      });
      this.#kept = new Map(read);
    }
    return ids.flatMap((id) => this.#kept.get(id)?.view ?? []);
  }
}
