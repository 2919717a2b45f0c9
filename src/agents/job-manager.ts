import { randomUUID } from 'node:crypto';
import { defined } from '../base/defined.ts';
import type { Logger } from '../base/log.ts';
import type { ChangeSignal, WaitOptions } from '../events/change-signal.ts';
import { carriersOf } from '../process/sweep.ts';
import { ReefError } from '../protocol/errors.ts';
import type { JobView } from '../protocol/job-operations.ts';
import type { Job, JobStatus } from '../protocol/jobs.ts';
import type { Caller, JobCore, OperationOutput, OperationRequest } from '../protocol/operations.ts';
import type { JobRecord } from '../store/job-table.ts';
import { EndedJobs } from './ended-jobs.ts';
import { findJob, isTheirs } from './find-job.ts';
import { countGoingOn, GoingOn } from './goes-on.ts';
import { askAboutHost, hostAnswer } from './hosts.ts';
import type { JobRunner } from './job-runner.ts';
import type { JobRuntime } from './job-runtime.ts';
import { isLive } from './job-status.ts';
import { changeJob, type JobTransaction } from './job-transaction.ts';
import { viewJob } from './job-view.ts';
import { STUCK_PARENT_EXIT } from './native-agents.ts';
import { enqueueInterrupt, enqueueMessage, type OutboxDoc } from './outbox.ts';
import { wholeOf } from './questions.ts';
import { send } from './sending.ts';
import { COMPLETED_KEPT } from './snapshotter.ts';
import { createJob, MAX_QUEUED, noteOn, type SpawnDeps, type SpawnRequest } from './spawn.ts';
import type { Timings } from './timings.ts';
import { isWaitOver, type Resting, restsBecause, whyNever } from './wait-over.ts';

export interface ManagerDeps extends SpawnDeps {
  runner: JobRunner;
  signal: ChangeSignal;
  timings: Timings;
  log: Logger;
  /** What is true of the job's worktree now, for an agent that continues in it. */
  briefOf?(job: Job): Promise<string>;
  /** Worktrees that this one waits for, and in which nothing goes on unless a person acts. */
  waitsBehind?(worktreeId: string): string[];
  /** Ends the runs a job started. It comes before their agents end: a run would take that for a failure. */
  endRuns?(jobId: string): Promise<void>;
}

/** Processes in a message, and in its details. */
const MOST_SHOWN = 5;
const MOST_LISTED = 100;
const REEF: Caller = { by: 'reef', surface: 'cli' };
const GO_ON = 'Continue where you left off.';

/** The seed's AgentManager: every operation on jobs, for every surface. */
export class JobManager implements JobCore {
  readonly #deps: ManagerDeps;
  readonly #goingOn: GoingOn;
  readonly #ended: EndedJobs;

  constructor(deps: ManagerDeps) {
    this.#deps = deps;
    this.#ended = new EndedJobs(deps.storage.store);
    const resume = ({ id, launch }: Job) => this.resume({ id, key: `goes on ${launch}` }, REEF);
    this.#goingOn = new GoingOn({ ...deps.storage, log: deps.log, resume });
    deps.runner.whenOver((id) => void this.settle(id));
  }

  close(): void {
    this.#goingOn.close();
  }

  /** Jobs that wait for a process, or for the time at which they go on. */
  waitingCount(): number {
    const { store } = this.#deps.storage;
    return store.jobs.queuedCount() + countGoingOn(store);
  }

  async spawn(request: SpawnRequest, caller: Caller): Promise<OperationOutput<'spawn'>> {
    const job = createJob(this.#deps, request, caller);
    this.#deps.runner.kick();
    const note = noteOn(job, this.#deps.registry.get(job.agent).adapter.describe());
    const { id: agentId, status, sandbox, worktree } = job;
    return { agentId, status, sandbox, ...defined({ worktree, note }) };
  }

  async status(request: OperationRequest<'status'>, caller: Caller): Promise<OperationOutput<'status'>> {
    const { store } = this.#deps.storage;
    if (request.id !== undefined) return { jobs: [this.#view(this.#find(request.id, caller))] };
    const live = store.jobs.live<JobRuntime>().filter(({ job }) => isTheirs(store, job, caller));
    const ended = this.#ended.last(COMPLETED_KEPT).filter((job) => isTheirs(store, job, caller));
    return { jobs: [...live.map((record) => this.#view(record)), ...ended] };
  }

  async send(request: OperationRequest<'send'>, caller: Caller): Promise<OperationOutput<'send'>> {
    const job = await this.#afterEnding(request.id, caller);
    const { storage, registry } = this.#deps;
    const isParked = job.status === 'paused' && this.#deps.runner.get(job.id) === undefined;
    const { text, key } = request;
    const { messageId, key: row } =
      isParked && text !== undefined && !this.#isRepeated(job.id, key)
        ? this.#requeue(job.id, { text, isOwnText: true, key }, caller)
        : send({ storage, adapter: registry.get(job.agent).adapter }, { job, request, caller });
    this.#deps.runner.kick(job.id);
    const delivered = row === undefined || (await this.#delivered(row));
    return { agentId: job.id, status: this.#find(job.id, caller).job.status, delivered, messageId };
  }

  async output(
    request: OperationRequest<'output'>,
    caller: Caller,
    signal: AbortSignal,
  ): Promise<OperationOutput<'output'>> {
    const { id } = this.#find(request.id, caller).job;
    // Both at one moment: with a later status a reader would stop before the events in between.
    const { log, store } = this.#deps.storage;
    const { since, before, limit } = request;
    const look = () => ({
      status: this.#find(id, caller).job.status,
      ...(before === undefined ? log.slice({ jobId: id, since, limit }) : log.before({ jobId: id, before, limit })),
    });
    const read = unlessSame(() => store.jobs.version(id), look);
    const isMet = ({ events, status }: ReturnType<typeof read>) => events.length > 0 || !isLive(status);
    return { agentId: id, ...(await this.#until(read, { isMet, timeoutMs: request.waitMs, signal })) };
  }

  async kill(request: OperationRequest<'kill'>, caller: Caller): Promise<OperationOutput<'kill'>> {
    const { job } = this.#find(request.id, caller);
    await this.#killTree(job.id, caller);
    const ended = this.#find(job.id, caller);
    return { agentId: job.id, status: ended.job.status, finalOutput: ended.runtime.lastText };
  }

  async wait(request: OperationRequest<'wait'>, caller: Caller, signal: AbortSignal): Promise<OperationOutput<'wait'>> {
    const { store } = this.#deps.storage;
    const active = store.jobs.live<JobRuntime>().filter(({ job }) => isTheirs(store, job, caller));
    const named = request.ids.map((id) => this.#find(id, caller));
    const meant = named.length > 0 ? named : active.filter(({ job }) => job.id !== caller.jobId);
    const ids = meant.map(({ job }) => job.id);
    const never = (jobs: JobView[]) => whyNever(jobs, this.#resting(jobs), request.until);
    const takeBack = caller.jobId === undefined ? undefined : this.#deps.runner.lend(caller.jobId);
    try {
      const look = () => ids.map((id) => this.#view(this.#find(id, caller)));
      const isMet = (jobs: JobView[]) => isWaitOver(jobs, request.until) || never(jobs) !== undefined;
      const jobs = await this.#until(look, { isMet, timeoutMs: request.timeoutMs, signal });
      const because = never(jobs);
      return { met: isWaitOver(jobs, request.until), ...(because !== undefined && { because }), jobs };
    } finally {
      takeBack?.();
    }
  }

  /** Of the proxy of the calling job's sandbox. */
  async ask_host(
    { questionId: known, waitMs, ...target }: OperationRequest<'ask_host'>,
    { jobId = '' }: Caller,
    signal: AbortSignal,
  ): Promise<OperationOutput<'ask_host'>> {
    const { storage } = this.#deps;
    const asked = known === undefined ? changeJob(storage, jobId, (tx) => askAboutHost(tx, target)) : undefined;
    const questionId = known ?? asked?.questionId;
    if (asked && (questionId === undefined || asked.answer !== 'open')) return asked;
    const look = () => hostAnswer(storage, jobId, questionId ?? '');
    return this.#until(look, { isMet: ({ answer }) => answer !== 'open', timeoutMs: waitMs, signal });
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
    const status = await this.#until(look, { isMet, timeoutMs: this.#deps.timings.acknowledge });
    if (!isMet(status)) throw new ReefError('interrupt_timeout', `the agent did not end its turn within 5 s`);
    return { agentId: job.id, status };
  }

  async resume(request: OperationRequest<'resume'>, caller: Caller): Promise<OperationOutput<'resume'>> {
    const job = await this.#afterEnding(request.id, caller);
    if (this.#isRepeated(job.id, request.key)) return { agentId: job.id, status: job.status, launch: job.launch };
    const text = request.text ?? [GO_ON, await this.#deps.briefOf?.(job)].filter(Boolean).join('\n\n');
    if (job.status === 'paused' && this.#deps.runner.get(job.id)) {
      const message = { messageId: randomUUID(), text, by: caller.by, isTask: false, key: request.key };
      this.#change(job.id, (tx) => enqueueMessage(tx, message));
    } else {
      this.#requeue(job.id, { text, isOwnText: request.text !== undefined, key: request.key }, caller);
    }
    this.#deps.runner.kick(job.id);
    const now = this.#find(job.id, caller).job;
    return { agentId: job.id, status: now.status, launch: now.launch };
  }

  async inbox({ whole }: OperationRequest<'inbox'>, caller: Caller): Promise<OperationOutput<'inbox'>> {
    const { store } = this.#deps.storage;
    const questions = store.questions.open().flatMap(({ jobId, question: shown, askedAt }) => {
      const record = store.jobs.get<JobRuntime>(jobId);
      const question = whole === undefined ? shown : wholeOf(store, { jobId, question: shown }, whole);
      if (!question || !record || !isTheirs(store, record.job, caller)) return [];
      const { agent, task, cwd } = record.job;
      return [{ ...question, jobId, agent, task, cwd, askedAt }];
    });
    if (whole !== undefined && questions.length === 0)
      throw new ReefError('question_not_found', `no open question has the fingerprint ${whole}`);
    return { questions, notices: [] };
  }

  /** A process is gone: ends those of its family that cannot go on without it. Never fails: nobody waits for it. */
  async settle(id: string): Promise<void> {
    this.#goingOn.look();
    await this.#attempt(() => this.#endStuckParent(id));
    await this.#attempt(() => this.#endOrphansOf(id));
  }

  /** Takes up what happened while no daemon ran: wakes jobs whose time has come, and ends what is below jobs that failed. Never fails: the next start tries again. */
  async endOrphans(): Promise<void> {
    this.#goingOn.look();
    await this.#attempt(async () => {
      const live = this.#deps.storage.store.jobs.live<JobRuntime>();
      const parents = new Set(live.flatMap(({ job }) => job.parentId ?? []));
      for (const id of parents) await this.#attempt(() => this.#endOrphansOf(id));
    });
  }

  async #attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#deps.log.warn('what a job left could not be ended', { error });
    }
  }

  /** Only native agents use this exit code; from any other agent it means something else. */
  async #endStuckParent(id: string): Promise<void> {
    const { storage, registry } = this.#deps;
    const job = storage.store.jobs.get<JobRuntime>(id)?.job;
    if (job?.exitCode === STUCK_PARENT_EXIT && registry.isHosted(job.agent))
      await this.#killTree(this.#hostOf(job), REEF);
  }

  /** The topmost of an unbroken line of native agents: they all live in its process. */
  #hostOf(job: Job): string {
    const { storage, registry } = this.#deps;
    const parent = job.parentId === undefined ? undefined : storage.store.jobs.get<JobRuntime>(job.parentId)?.job;
    return parent && registry.isHosted(parent.agent) ? this.#hostOf(parent) : job.id;
  }

  /** The children of a failed native agent are of no use to anybody else. */
  async #endOrphansOf(id: string): Promise<void> {
    const { storage, registry } = this.#deps;
    const job = storage.store.jobs.get<JobRuntime>(id)?.job;
    const hasFailed = job?.status === 'error' || job?.status === 'stale';
    if (hasFailed && registry.ownsChildren(job.agent)) await this.#killBelow(id, REEF);
  }

  /** A process that is being ended takes no more messages: waits until it is gone before its job is woken. */
  async #afterEnding(id: string, caller: Caller): Promise<Job> {
    const look = () => this.#find(id, caller);
    const isMet = ({ job, runtime }: ReturnType<typeof look>) =>
      job.status !== 'paused' || runtime.ending === null || this.#deps.runner.get(job.id) === undefined;
    return (await this.#until(look, { isMet, timeoutMs: this.#deps.timings.kill })).job;
  }

  /** Ends the children first, then the job, then the children it started meanwhile. */
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
    const timeoutMs = this.#deps.timings.kill;
    const status = await this.#until(look, { isMet: (now) => !isLive(now), timeoutMs });
    if (isLive(status)) throw await stillEnding(id, timeoutMs);
  }

  async #killBelow(id: string, caller: Caller, isMeant: (job: Job) => boolean = () => true): Promise<void> {
    // A run that cannot be ended must not keep the agents below it alive.
    await this.#deps.endRuns?.(id).catch((error: unknown) => {
      this.#deps.log.warn('the runs of a job could not be ended', { job: id, error });
    });
    for (const { job } of this.#deps.storage.store.jobs.childrenOf<JobRuntime>(id))
      if (isMeant(job)) await this.#killTree(job.id, caller);
  }

  /** For a job that has no process: a new launch continues the agent's own session. */
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
        const by = message.isOwnText ? caller.by : 'reef';
        enqueueMessage(tx, { messageId, text: message.text, by, isTask: !message.isOwnText, key });
      }
      tx.runtime.ending = null;
      tx.emit({ type: 'progress', payload: { kind: 'queued', position: queued + 1 } });
    });
    return { messageId, key: `${id}:${key}` };
  }

  /** Whether a request with this key was stored before. */
  #isRepeated(id: string, key: string | undefined): boolean {
    return key !== undefined && this.#deps.storage.store.outbox.get(`${id}:${key}`) !== undefined;
  }

  /** Those of the jobs that do nothing more unless somebody acts. */
  #resting(jobs: readonly JobView[]): Resting[] {
    return jobs.flatMap((job) => {
      const why = this.#restsBecause(job, jobs);
      return why === undefined ? [] : [{ job, why }];
    });
  }

  #restsBecause(job: JobView, waitedFor: readonly JobView[]): string | undefined {
    if (job.status === 'queued') return this.#heldUpBecause(job, waitedFor);
    const isPaused = job.status === 'paused' && job.activity !== 'ending' && job.goesOnAt === undefined;
    const hasMail = isPaused && this.#deps.storage.store.outbox.open(job.id).length > 0;
    return !isLive(job.status) || (isPaused && !hasMail) ? restsBecause(job) : undefined;
  }

  /** An answer to one of the jobs that are waited for as well would make room. */
  #heldUpBecause({ id, behind }: JobView, waitedFor: readonly JobView[]): string | undefined {
    if (behind) return `Job ${id} waits behind ${behind.join(', ')}, where nothing goes on.`;
    const holders = this.#deps.runner.asking();
    if (holders.length === 0 || waitedFor.some((job) => holders.includes(job.id))) return undefined;
    return `Job ${id} waits for a place, and every place is held by a job that waits for an answer: ${holders.join(', ')}.`;
  }

  /** True once the agent has acknowledged it. False means that the message is on its way, not that it is lost. */
  async #delivered(key: string): Promise<boolean> {
    const { outbox } = this.#deps.storage.store;
    const row = await this.#until(() => outbox.get<OutboxDoc>(key), {
      isMet: (seen) => seen?.state === 'delivered' || seen?.state === 'failed',
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
    const { status, worktree } = record.job;
    const behind = status === 'queued' && worktree !== undefined ? this.#deps.waitsBehind?.(worktree) : undefined;
    return { ...viewJob(this.#deps.storage.store, record, liveness), ...(behind?.length && { behind }) };
  }

  #change(id: string, change: (tx: JobTransaction) => void): void {
    changeJob(this.#deps.storage, id, change);
  }

  #until<T>(look: () => T, options: WaitOptions<T>): Promise<T> {
    return this.#deps.signal.until(look, { clock: this.#deps.storage.clock, ...options });
  }
}

async function stillEnding(id: string, afterMs: number): Promise<ReefError> {
  const processes = await carriersOf(id);
  const shown = processes.slice(0, MOST_SHOWN).map(({ pid, program }) => `${pid} ${program}`);
  const left =
    processes.length === 0
      ? 'its processes are gone, and the end of its output is being read'
      : `${processes.length} of its processes are left: ${shown.join(', ')}${processes.length > MOST_SHOWN ? ' …' : ''}`;
  const message = `job ${id} is still ending after ${afterMs / 1000} s: ${left}.`;
  return new ReefError('still_ending', message, { details: { processes: processes.slice(0, MOST_LISTED) } });
}

/** Whoever waits is woken by every job: one that is not meant costs a comparison. */
function unlessSame<T>(version: () => number, look: () => T): () => T {
  let last: { version: number; seen: T } | undefined;
  return () => {
    const now = version();
    if (last?.version !== now) last = { version: now, seen: look() };
    return last.seen;
  };
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
