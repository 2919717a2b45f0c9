import { randomUUID } from 'node:crypto';
import type { Logger } from '../base/log.ts';
import type { ChangeSignal } from '../events/change-signal.ts';
import { ReefError } from '../protocol/errors.ts';
import type { JobView } from '../protocol/job-operations.ts';
import type { Job, JobStatus } from '../protocol/jobs.ts';
import type { Caller, JobCore, OperationOutput, OperationRequest } from '../protocol/operations.ts';
import type { JobRecord } from '../store/job-table.ts';
import { findJob, isTheirs } from './find-job.ts';
import type { JobRunner } from './job-runner.ts';
import type { JobRuntime } from './job-runtime.ts';
import { isLive } from './job-status.ts';
import { JobTransaction } from './job-transaction.ts';
import { viewJob } from './job-view.ts';
import { STUCK_PARENT_EXIT } from './native-agents.ts';
import { enqueueInterrupt, enqueueMessage, type OutboxDoc } from './outbox.ts';
import { send } from './sending.ts';
import { COMPLETED_KEPT } from './snapshotter.ts';
import { createJob, MAX_QUEUED, type SpawnDeps, type SpawnRequest } from './spawn.ts';
import type { Timings } from './timings.ts';

export interface ManagerDeps extends SpawnDeps {
  runner: JobRunner;
  signal: ChangeSignal;
  timings: Timings;
  log: Logger;
  /** What is true of the worktree of a job now, for an agent that goes on in it. */
  briefOf?(job: Job): Promise<string>;
  /** The runs it started end with it, before their agents do: to them that would be a fault. */
  endRuns?(jobId: string): Promise<void>;
}

/** Longer than the ladder from SIGTERM to the last wait, so that `kill` answers with the end and not with a hope. */
const KILL_SLACK_MS = 10_000;
const REEF: Caller = { by: 'reef', surface: 'cli' };
const GO_ON = 'Continue where you left off.';

/** The seed's AgentManager: every operation on jobs, for every surface. */
export class JobManager implements JobCore {
  readonly #deps: ManagerDeps;

  constructor(deps: ManagerDeps) {
    this.#deps = deps;
    deps.runner.whenOver((id) => void this.settle(id));
  }

  async spawn(request: SpawnRequest, caller: Caller): Promise<OperationOutput<'spawn'>> {
    const job = createJob(this.#deps, request, caller);
    this.#deps.runner.kick();
    return { agentId: job.id, status: job.status, ...(job.worktree !== undefined && { worktree: job.worktree }) };
  }

  async status(request: OperationRequest<'status'>, caller: Caller): Promise<OperationOutput<'status'>> {
    const { jobs } = this.#deps.storage.store;
    if (request.id !== undefined) return { jobs: [this.#view(this.#find(request.id, caller))] };
    const all = [...jobs.live<JobRuntime>(), ...jobs.lastEnded<JobRuntime>(COMPLETED_KEPT)];
    const theirs = all.filter((record) => isTheirs(this.#deps.storage.store, record, caller));
    return { jobs: theirs.map((record) => this.#view(record)) };
  }

  async send(request: OperationRequest<'send'>, caller: Caller): Promise<OperationOutput<'send'>> {
    const job = await this.#afterEnding(request.id, caller);
    const { storage, registry } = this.#deps;
    const isParked = job.status === 'paused' && this.#deps.runner.get(job.id) === undefined;
    const isRepeated = request.key !== undefined && storage.store.outbox.get(`${job.id}:${request.key}`) !== undefined;
    if (isParked && !isRepeated && request.text !== undefined) return this.#wakeWith(request, caller);
    const sent = send({ storage, adapter: registry.get(job.agent).adapter }, { job, request, caller });
    this.#deps.runner.kick(job.id);
    const isDelivered = sent.key === undefined || (await this.#delivered(sent.key));
    return {
      agentId: job.id,
      status: this.#find(job.id, caller).job.status,
      delivered: isDelivered,
      messageId: sent.messageId,
    };
  }

  async output(
    request: OperationRequest<'output'>,
    caller: Caller,
    signal: AbortSignal,
  ): Promise<OperationOutput<'output'>> {
    const { id } = this.#find(request.id, caller).job;
    // At one moment: an end that comes after the page would keep who follows from what came between.
    const read = () => ({
      status: this.#find(id, caller).job.status,
      ...this.#deps.storage.log.slice({ jobId: id, since: request.since, limit: request.limit }),
    });
    const isMet = ({ events, status }: ReturnType<typeof read>) => events.length > 0 || !isLive(status);
    const page = await this.#deps.signal.until(read, {
      clock: this.#deps.storage.clock,
      isMet,
      timeoutMs: request.waitMs,
      signal,
    });
    return { agentId: id, ...page };
  }

  async kill(request: OperationRequest<'kill'>, caller: Caller): Promise<OperationOutput<'kill'>> {
    const { job } = this.#find(request.id, caller);
    await this.#killTree(job.id, caller);
    const ended = this.#find(job.id, caller);
    return { agentId: job.id, status: ended.job.status, finalOutput: ended.runtime.lastText };
  }

  async wait(request: OperationRequest<'wait'>, caller: Caller, signal: AbortSignal): Promise<OperationOutput<'wait'>> {
    const { store } = this.#deps.storage;
    const active = () => store.jobs.live<JobRuntime>().filter((record) => isTheirs(store, record, caller));
    const others = active().filter(({ job }) => job.id !== caller.jobId);
    const ids =
      request.ids.length > 0 ? request.ids.map((id) => this.#find(id, caller).job.id) : others.map(({ job }) => job.id);
    const isMet = (jobs: JobView[]) => isWaitOver(jobs, request.until);
    const takeBack = caller.jobId === undefined ? undefined : this.#deps.runner.lend(caller.jobId);
    try {
      const look = () => ids.map((id) => this.#view(this.#find(id, caller)));
      const jobs = await this.#deps.signal.until(look, {
        clock: this.#deps.storage.clock,
        isMet,
        timeoutMs: request.timeoutMs,
        signal,
      });
      return { met: isMet(jobs), jobs };
    } finally {
      takeBack?.();
    }
  }

  async interrupt(request: OperationRequest<'interrupt'>, caller: Caller): Promise<OperationOutput<'interrupt'>> {
    const { job } = this.#find(request.id, caller);
    if (job.status === 'paused') return { agentId: job.id, status: job.status };
    if (!isLive(job.status)) throw new ReefError('job_ended', `job ${job.id} is over (${job.status})`);
    if (!this.#deps.runner.get(job.id)) throw new ReefError('invalid_transition', `job ${job.id} has no turn to end`);
    if (job.mode === 'headful') {
      throw new ReefError('invalid_transition', `end the turn of ${job.id} in its terminal: reef attach ${job.id}`);
    }
    const { busyMessage, title } = this.#deps.registry.get(job.agent).adapter.describe();
    if (busyMessage === 'refused') throw new ReefError('send_unsupported', `${title} hears nothing while it works`);
    this.#change(job.id, (tx) => enqueueInterrupt(tx, randomUUID()));
    this.#deps.runner.kick(job.id);
    const look = () => this.#find(job.id, caller).job.status;
    const isMet = (status: JobStatus) => status === 'paused' || !isLive(status);
    const status = await this.#deps.signal.until(look, {
      clock: this.#deps.storage.clock,
      isMet,
      timeoutMs: this.#deps.timings.acknowledge,
    });
    if (!isMet(status)) throw new ReefError('interrupt_timeout', `the agent did not end its turn within 5 s`);
    return { agentId: job.id, status };
  }

  async resume(request: OperationRequest<'resume'>, caller: Caller): Promise<OperationOutput<'resume'>> {
    const job = await this.#afterEnding(request.id, caller);
    const repeated =
      request.key === undefined ? undefined : this.#deps.storage.store.outbox.get(`${job.id}:${request.key}`);
    if (repeated) return { agentId: job.id, status: job.status, launch: job.launch };
    const text = request.text ?? [GO_ON, await this.#deps.briefOf?.(job)].filter(Boolean).join('\n\n');
    if (job.status === 'paused' && this.#deps.runner.get(job.id)) {
      const message = { messageId: randomUUID(), text, by: caller.by, isTask: false };
      this.#change(job.id, (tx) =>
        enqueueMessage(tx, { ...message, ...(request.key !== undefined && { key: request.key }) }),
      );
    } else {
      this.#requeue(job.id, { text, isOwnText: request.text !== undefined, key: request.key }, caller);
    }
    this.#deps.runner.kick(job.id);
    const now = this.#find(job.id, caller).job;
    return { agentId: job.id, status: now.status, launch: now.launch };
  }

  async inbox(_request: OperationRequest<'inbox'>, caller: Caller): Promise<OperationOutput<'inbox'>> {
    const { store } = this.#deps.storage;
    const questions = store.questions.open().flatMap(({ jobId, question, askedAt }) => {
      const record = store.jobs.get<JobRuntime>(jobId);
      if (!record || !isTheirs(store, record, caller)) return [];
      const { agent, task, cwd } = record.job;
      return [{ ...question, jobId, agent, task, cwd, askedAt }];
    });
    return { questions, notices: [] };
  }

  /** What the end of a process means for others of its family. Never fails: nobody waits for it. */
  async settle(id: string): Promise<void> {
    await this.#attempt(() => this.#endStuckParent(id));
    await this.#attempt(() => this.#endOrphansOf(id));
  }

  /** What is below jobs that failed while no daemon was there. Never fails: one that cannot be ended is met at the next start. */
  async endOrphans(): Promise<void> {
    await this.#attempt(async () => {
      for (const id of this.#parents()) await this.#attempt(() => this.#endOrphansOf(id));
    });
  }

  async #attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#deps.log.warn('what a job left could not be ended', { error });
    }
  }

  /** To an agent that lives in no host that code means something else. */
  async #endStuckParent(id: string): Promise<void> {
    const { storage, registry } = this.#deps;
    const job = storage.store.jobs.get<JobRuntime>(id)?.job;
    if (job?.exitCode === STUCK_PARENT_EXIT && registry.isHosted(job.agent))
      await this.#killTree(this.#hostOf(job), REEF);
  }

  /** The first in an unbroken line of the user's own agents: all of these live in its process. */
  #hostOf(job: Job): string {
    const { storage, registry } = this.#deps;
    const parent = job.parentId === undefined ? undefined : storage.store.jobs.get<JobRuntime>(job.parentId)?.job;
    return parent && registry.isHosted(parent.agent) ? this.#hostOf(parent) : job.id;
  }

  /** Nobody else takes the children of these agents. */
  async #endOrphansOf(id: string): Promise<void> {
    const { storage, registry } = this.#deps;
    const job = storage.store.jobs.get<JobRuntime>(id)?.job;
    const hasFailed = job?.status === 'error' || job?.status === 'stale';
    if (hasFailed && registry.ownsChildren(job.agent)) await this.#killBelow(id, REEF);
  }

  #parents(): Set<string> {
    const live = this.#deps.storage.store.jobs.live<JobRuntime>();
    return new Set(live.flatMap(({ job }) => job.parentId ?? []));
  }

  /** A process that is being ended takes no more messages: who would wake its job waits until it is gone. */
  async #afterEnding(id: string, caller: Caller): Promise<Job> {
    const look = () => this.#find(id, caller);
    const isMet = ({ job, runtime }: ReturnType<typeof look>) =>
      job.status !== 'paused' || runtime.ending === null || this.#deps.runner.get(job.id) === undefined;
    return (
      await this.#deps.signal.until(look, {
        clock: this.#deps.storage.clock,
        isMet,
        timeoutMs: this.#deps.timings.grace + KILL_SLACK_MS,
      })
    ).job;
  }

  /** A parent's children end first, and then those it started meanwhile; ending twice is ending once. */
  async #killTree(id: string, caller: Caller): Promise<void> {
    await this.#killBelow(id, caller);
    await this.#killOne(id, caller);
    await this.#killBelow(id, caller, ({ status }) => isLive(status));
  }

  async #killOne(id: string, caller: Caller): Promise<void> {
    await this.#deps.runner.launched(id);
    const { job } = this.#find(id, caller);
    if (!isLive(job.status)) return;
    const live = this.#deps.runner.get(id);
    if (live) live.end({ why: 'kill' });
    else this.#change(id, endWithoutProcess);
    this.#deps.runner.kick(id);
    const look = () => this.#find(id, caller).job.status;
    const timeoutMs = this.#deps.timings.grace + KILL_SLACK_MS;
    const status = await this.#deps.signal.until(look, {
      clock: this.#deps.storage.clock,
      isMet: (now) => !isLive(now),
      timeoutMs,
    });
    if (isLive(status)) throw new ReefError('internal', `job ${id} could not be ended`);
  }

  async #killBelow(id: string, caller: Caller, isMeant: (job: Job) => boolean = () => true): Promise<void> {
    // Agents that could be ended must not outlive their job because a run could not.
    await this.#deps.endRuns?.(id).catch((error: unknown) => {
      this.#deps.log.warn('the runs of a job could not be ended', { job: id, error });
    });
    for (const { job } of this.#deps.storage.store.jobs.childrenOf<JobRuntime>(id))
      if (isMeant(job)) await this.#killTree(job.id, caller);
  }

  /** Ended, or paused without a process: the agent's own session is continued by a new launch. */
  #requeue(
    id: string,
    message: { text: string; isOwnText: boolean; key?: string | undefined },
    caller: Caller,
  ): { messageId: string; key: string } {
    const { job } = this.#find(id, caller);
    const isParked = job.status === 'paused' || !isLive(job.status);
    if (!isParked) throw new ReefError('invalid_transition', `job ${id} is ${job.status}: there is nothing to resume`);
    if (job.status === 'killed') throw new ReefError('not_resumable', `job ${id} was killed`);
    if (job.sessionId === undefined) throw new ReefError('no_session', `job ${id} has no session to continue`);
    const { resumes, title } = this.#deps.registry.get(job.agent).adapter.describe();
    if (!resumes) throw new ReefError('resume_unsupported', `${title} cannot continue a session`);
    const messageId = randomUUID();
    const key = message.key ?? messageId;
    this.#change(id, (tx) => {
      const { store } = tx.storage;
      const queued = store.jobs.queuedCount();
      if (queued >= MAX_QUEUED) throw new ReefError('queue_full', `${MAX_QUEUED} jobs are waiting already`);
      const waits = store.outbox.open<OutboxDoc>(id).some(({ doc }) => doc.kind === 'message');
      if (message.isOwnText || !waits) {
        enqueueMessage(tx, {
          messageId,
          text: message.text,
          by: message.isOwnText ? caller.by : 'reef',
          isTask: !message.isOwnText,
          key,
        });
      }
      tx.runtime.ending = null;
      tx.emit({ type: 'progress', payload: { kind: 'queued', position: queued + 1 } });
    });
    return { messageId, key: `${id}:${key}` };
  }

  async #wakeWith(request: OperationRequest<'send'>, caller: Caller): Promise<OperationOutput<'send'>> {
    const { id } = this.#find(request.id, caller).job;
    const message = { text: request.text ?? '', isOwnText: true, key: request.key };
    const { messageId, key } = this.#requeue(id, message, caller);
    this.#deps.runner.kick(id);
    const isDelivered = await this.#delivered(key);
    return { agentId: id, status: this.#find(id, caller).job.status, delivered: isDelivered, messageId };
  }

  /** Success is the agent's own acknowledgement; without it in time the message is on its way, not lost. */
  async #delivered(key: string): Promise<boolean> {
    const { outbox } = this.#deps.storage.store;
    const isSettled = (row: ReturnType<typeof outbox.get<OutboxDoc>>) =>
      row?.state === 'delivered' || row?.state === 'failed';
    const look = () => outbox.get<OutboxDoc>(key);
    const row = await this.#deps.signal.until(look, {
      clock: this.#deps.storage.clock,
      isMet: isSettled,
      timeoutMs: this.#deps.timings.acknowledge,
    });
    if (row?.doc.refused) throw new ReefError(row.doc.refused.code, row.doc.refused.message);
    return row?.state === 'delivered';
  }

  #find(id: string, caller: Caller): JobRecord<JobRuntime> {
    return findJob(this.#deps.storage.store, id, caller);
  }

  #view(record: JobRecord<JobRuntime>): JobView {
    const live = this.#deps.runner.get(record.job.id);
    const stalledAfterMs = this.#deps.timings.stalled;
    const liveness = live && { silentMs: live.silentMs(), isEnding: live.isEnding, stalledAfterMs };
    return viewJob(this.#deps.storage.store, record, liveness);
  }

  #change(id: string, change: (tx: JobTransaction) => void): void {
    const { storage } = this.#deps;
    storage.store.commit(() => {
      const record = storage.store.jobs.get<JobRuntime>(id);
      if (!record) throw new ReefError('job_not_found', `there is no job "${id}"`);
      const tx = new JobTransaction(storage, record);
      change(tx);
      tx.save();
    });
  }
}

/** One that asks is enough to come back; "done" and "idle" mean all of them. */
function isWaitOver(jobs: JobView[], until: OperationRequest<'wait'>['until']): boolean {
  if (until.includes('needs_input') && jobs.some((job) => job.awaiting_input)) return true;
  const isAtRest = (job: JobView) =>
    (!isLive(job.status) && (until.includes('done') || until.includes('idle'))) ||
    (job.status === 'paused' && until.includes('idle'));
  return jobs.every(isAtRest);
}

function endWithoutProcess(tx: JobTransaction): void {
  const { usage } = tx.job;
  const result = tx.runtime.lastText;
  tx.emit({
    type: 'completed',
    payload: { scope: 'process', outcome: 'killed', result, usage, durationMs: 0, derived: true },
  });
  tx.job.endedAt = tx.now();
}
