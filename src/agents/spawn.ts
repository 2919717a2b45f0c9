import { realpathSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { findRepository } from '../base/home.ts';
import type { Capabilities } from '../process/capabilities.ts';
import { ReefError } from '../protocol/errors.ts';
import type { Job } from '../protocol/jobs.ts';
import type { Caller, OperationRequest } from '../protocol/operations.ts';
import { locateAgent } from './detect.ts';
import { findJob } from './find-job.ts';
import { freshRuntime, type JobRuntime } from './job-runtime.ts';
import { type Books, JobTransaction } from './job-transaction.ts';
import { enqueueMessage } from './outbox.ts';
import type { AdapterRegistry } from './registry.ts';
import { noUsage } from './usage.ts';

const MAX_TASK_BYTES = 1024 * 1024;
export const MAX_QUEUED = 1000;

export interface SpawnHost {
  books: Books;
  registry: AdapterRegistry;
  capabilities: Capabilities;
  newId: () => string;
  /** Where jobs work when nobody says otherwise. */
  defaultCwd: string;
  searchPath: string;
}

type SpawnRequest = OperationRequest<'spawn'>;

/** Everything that can be refused is refused before there is a row; the row is `queued` and holds the task. */
export function createJob(host: SpawnHost, request: SpawnRequest, caller: Caller): Job {
  const { store } = host.books;
  const known = request.key === undefined ? undefined : store.jobs.byKey<JobRuntime>(request.key);
  if (known) return known.job;
  const parent = parentOf(host, request, caller);
  const cwd = workingFolder(request.cwd ?? parent?.cwd ?? host.defaultCwd);
  locateAgent(host.registry.get(request.agent), host.searchPath);
  if (Buffer.byteLength(request.task) > MAX_TASK_BYTES) throw new ReefError('task_too_large', 'the task is over 1 MiB');
  refuseMode(request);
  const sandbox = chooseSandbox(request, host.capabilities);
  const id = host.newId();
  const now = host.books.clock.now().toISOString();
  const job: Job = {
    id,
    agent: request.agent,
    mode: request.mode,
    task: request.task,
    cwd,
    ...(request.model === undefined ? {} : { model: request.model }),
    ...(parent ? { parentId: parent.id } : {}),
    rootId: parent?.rootId ?? id,
    depth: parent ? parent.depth + 1 : 0,
    launch: 0,
    status: 'queued',
    keep: request.keep,
    yes: request.yes,
    sandbox,
    createdAt: now,
    usage: noUsage,
    turns: 0,
    workedMs: 0,
    budget: request.budget,
    unknownMessages: 0,
  };
  return store.commit(() => insertQueued(host, job, request.key));
}

function insertQueued(host: SpawnHost, job: Job, key: string | undefined): Job {
  const { store } = host.books;
  const position = store.jobs.queuedCount() + 1;
  if (position > MAX_QUEUED) throw new ReefError('queue_full', `${MAX_QUEUED} jobs are waiting already`);
  const record = { job, runtime: freshRuntime() };
  store.jobs.insert(record, key);
  const tx = new JobTransaction(host.books, record);
  tx.emit({ type: 'progress', payload: { kind: 'queued', position } });
  enqueueMessage(tx, { messageId: `${job.id}:task`, text: job.task, by: 'task', isTask: true });
  return tx.save().job;
}

/** A job's own calls make children of it, whatever it says. */
function parentOf(host: SpawnHost, request: SpawnRequest, caller: Caller): Job | undefined {
  const parentId = request.parentId ?? caller.jobId;
  return parentId === undefined ? undefined : findJob(host.books.store, parentId, caller).job;
}

function workingFolder(path: string): string {
  const cwd = resolve(path);
  if (statSync(cwd, { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw new ReefError('cwd_missing', `there is no folder ${cwd}`);
  }
  const real = realpathSync(cwd);
  if (findRepository(real) === undefined)
    throw new ReefError('not_a_repository', `${real} is not inside a git repository`);
  return real;
}

function refuseMode(request: SpawnRequest): void {
  if (request.mode === 'headful') throw new ReefError('headful_unsupported', 'headful is not supported yet');
}

function chooseSandbox(request: SpawnRequest, capabilities: Capabilities): Job['sandbox'] {
  if (request.sandbox && capabilities.bubblewrap === undefined) {
    throw new ReefError('sandbox_unavailable', 'bubblewrap is not installed here or not allowed to work');
  }
  if (request.yes && !request.sandbox && !request.unsafe) {
    throw new ReefError('unsafe_needs_consent', 'an agent that asks nothing needs a sandbox around it');
  }
  return request.sandbox ? 'bubblewrap' : 'none';
}
