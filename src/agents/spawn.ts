import { realpathSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { defined } from '../base/defined.ts';
import { findRepository } from '../base/home.ts';
import type { Capabilities } from '../process/capabilities.ts';
import { ReefError } from '../protocol/errors.ts';
import type { Job, SandboxMode } from '../protocol/jobs.ts';
import type { Caller, OperationRequest } from '../protocol/operations.ts';
import type { AgentDescription } from './adapter.ts';
import { TOKENS_PER_ANSWER } from './adapter-effects.ts';
import { locateAgent } from './detect.ts';
import { findJob } from './find-job.ts';
import { freshRuntime, type JobRuntime } from './job-runtime.ts';
import { type JobStorage, JobTransaction } from './job-transaction.ts';
import { enqueueMessage } from './outbox.ts';
import { chooseDepth, chooseSandbox, refuseCrowd, refuseDepth, refuseEscape } from './permissions.ts';
import { plainName } from './plain-name.ts';
import type { AdapterRegistry } from './registry.ts';
import { refuseHeadful } from './terminal/headful.ts';
import { noUsage } from './usage.ts';

const MAX_TASK_BYTES = 1024 * 1024;
export const MAX_QUEUED = 1000;

export interface SpawnDeps {
  storage: JobStorage;
  registry: AdapterRegistry;
  capabilities: Capabilities;
  newId: () => string;
  /** Where jobs work when nobody says otherwise. */
  defaultCwd: string;
  searchPath: string;
  /** As the user has it configured now. */
  sandboxMode(): SandboxMode;
}

/** A worktree is given by its id; it may still have to be made. */
export type SpawnRequest = OperationRequest<'spawn'> & {
  readonly?: boolean;
  /** What is true of the worktree it finds; it follows the task. */
  brief?: string;
};

/** Refuses all that can be refused before there is a row. The row is `queued`, and the outbox holds the task. */
export function createJob(deps: SpawnDeps, request: SpawnRequest, caller: Caller): Job {
  const { store } = deps.storage;
  const known = request.key === undefined ? undefined : store.jobs.byKey<JobRuntime>(request.key);
  if (known) return findJob(store, known.job.id, caller).job;
  const parent = parentOf(deps, request, caller);
  if (parent) {
    refuseDepth(parent);
    refuseCrowd(parent, store.jobs.live<JobRuntime>());
  }
  // The folder of a worktree that is not made yet is set when the job starts.
  const cwd = workingFolder(request.cwd ?? parent?.cwd ?? deps.defaultCwd);
  if (parent && caller.jobId !== undefined) {
    refuseEscape(deps.registry, parent, request);
    if (!isWithin(parent.cwd, cwd)) throw new ReefError('path_outside_worktree', `${cwd} is not inside ${parent.cwd}`);
  }
  const agent = deps.registry.get(request.agent);
  if (!deps.registry.isHosted(request.agent)) refuseNoRepository(cwd, parent);
  locateAgent(agent, deps.searchPath);
  if (Buffer.byteLength(request.task) > MAX_TASK_BYTES) throw new ReefError('task_too_large', 'the task is over 1 MiB');
  refuseHeadful(request, { ...deps, ...agent }, caller);
  const around = { ...deps.capabilities, mode: deps.sandboxMode(), agent: agent.adapter.describe() };
  const sandbox = chooseSandbox(request, parent, around);
  const id = deps.newId();
  const now = deps.storage.clock.now().toISOString();
  const job: Job = {
    id,
    agent: plainName(request.agent),
    mode: request.mode,
    task: deps.storage.log.redact(request.task),
    cwd,
    by: caller.by,
    ...defined({ worktree: request.worktree, model: request.model, parentId: parent?.id }),
    rootId: parent?.rootId ?? id,
    depth: parent ? parent.depth + 1 : 0,
    ...chooseDepth(request.maxDepth, parent),
    launch: 0,
    status: 'queued',
    keep: request.keep,
    ...(request.readonly && { readonly: true }),
    yes: request.yes,
    sandbox,
    createdAt: now,
    usage: noUsage,
    turns: 0,
    workedMs: 0,
    budget: request.budget,
    unknownMessages: 0,
  };
  return store.commit(() => insertQueued(deps, job, request));
}

/** What the person who starts it should know beforehand. */
export function noteOn({ budget }: Job, { title, tellsTokensLate }: AgentDescription): string | undefined {
  if (budget.tokens === undefined || !tellsTokensLate) return undefined;
  return (
    `${title} tells its tokens only when a turn is over. Until then each answer of the model counts for about ` +
    `${TOKENS_PER_ANSWER} of the ${budget.tokens} tokens; a limit of turns or time is exact.`
  );
}

/** The agent hears the task as it was given; what is kept of it has no secrets. */
function insertQueued(deps: SpawnDeps, job: Job, { key, task, brief = '' }: SpawnRequest): Job {
  const { store } = deps.storage;
  const position = store.jobs.queuedCount() + 1;
  if (position > MAX_QUEUED) throw new ReefError('queue_full', `${MAX_QUEUED} jobs are waiting already`);
  const record = { job, runtime: freshRuntime() };
  store.jobs.insert(record, key);
  const tx = new JobTransaction(deps.storage, record);
  tx.emit({ type: 'progress', payload: { kind: 'queued', position } });
  const text = brief === '' ? task : `${task}\n\n${brief}`;
  enqueueMessage(tx, { messageId: `${job.id}:task`, text, by: 'task', isTask: true });
  return tx.save().job;
}

/** A job's own calls make children of it, whatever it says. */
function parentOf(deps: SpawnDeps, request: SpawnRequest, caller: Caller): Job | undefined {
  const parentId = request.parentId ?? caller.jobId;
  return parentId === undefined ? undefined : findJob(deps.storage.store, parentId, caller).job;
}

function workingFolder(path: string): string {
  const cwd = resolve(path);
  if (statSync(cwd, { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw new ReefError('cwd_missing', `there is no folder ${cwd}`);
  }
  return realpathSync(cwd);
}

/** Only in a repository can the changes of an agent be undone. A child may work where its parent does. */
function refuseNoRepository(cwd: string, parent: Job | undefined): void {
  if (findRepository(cwd) !== undefined || (parent && isWithin(parent.cwd, cwd))) return;
  throw new ReefError('not_a_repository', `${cwd} is not inside a git repository`);
}

function isWithin(folder: string, path: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}
