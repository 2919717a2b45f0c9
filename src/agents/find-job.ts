import { ReefError } from '../protocol/errors.ts';
import type { Job } from '../protocol/jobs.ts';
import type { Caller } from '../protocol/operations.ts';
import type { JobRecord } from '../store/job-table.ts';
import type { Store } from '../store/store.ts';
import type { JobRuntime } from './job-runtime.ts';

/** The job with this id, with an id that begins so, or the newest for `@last`. It must belong to the caller. */
export function findJob(store: Store, id: string, caller: Caller): JobRecord<JobRuntime> {
  const record = store.jobs.get<JobRuntime>(completeId(store, id));
  if (!record) throw new ReefError('job_not_found', `there is no job "${id}"`);
  if (!isTheirs(store, record.job, caller))
    throw new ReefError('not_yours', `job ${record.job.id} is not a child of yours`);
  return record;
}

function completeId(store: Store, id: string): string {
  if (id === '@last') return store.jobs.newestId() ?? id;
  const wanted = id.toUpperCase();
  const [found, another] = store.jobs.idsByPrefix(wanted);
  if (found !== undefined && found !== wanted && another !== undefined) {
    throw new ReefError('ambiguous_id', `several jobs begin with "${id}"`);
  }
  return found ?? id;
}

/** People see every job; a job sees itself and what descends from it. */
export function isTheirs(store: Store, job: Pick<Job, 'id' | 'parentId'>, caller: Caller): boolean {
  if (caller.jobId === undefined) return true;
  let current: Pick<Job, 'id' | 'parentId'> | undefined = job;
  while (current) {
    if (current.id === caller.jobId) return true;
    current = current.parentId === undefined ? undefined : store.jobs.get(current.parentId)?.job;
  }
  return false;
}
