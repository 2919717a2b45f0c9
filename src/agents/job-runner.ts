import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { AwakeTime, type Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { Limiter } from '../base/serial.ts';
import type { ChangeSignal } from '../events/change-signal.ts';
import type { ProcessIdentity } from '../process/identity.ts';
import { abandonLaunch, readLaunch } from '../process/launch-folder.ts';
import { sweep, sweepOrphans, tagged } from '../process/sweep.ts';
import { type Watch, watchFolder } from '../process/watch-folder.ts';
import { errorTable } from '../protocol/error-table.ts';
import { type ReefError, toReefError } from '../protocol/errors.ts';
import type { Job } from '../protocol/jobs.ts';
import type { JobRecord } from '../store/job-table.ts';
import { AgentHome, stateDir } from './agent-state.ts';
import type { JobRuntime } from './job-runtime.ts';
import { isLive } from './job-status.ts';
import { changeJob, loadJob } from './job-transaction.ts';
import { forgetLaunch, type LaunchDeps, launchJob, noteStarted } from './launcher.ts';
import { LiveJob } from './live-job.ts';
import type { GuardedFolders } from './sandbox.ts';
import { jobDir } from './sandbox.ts';

export interface RunnerDeps extends LaunchDeps {
  clock: Clock;
  log: Logger;
  signal: ChangeSignal;
  guards: GuardedFolders;
  maxJobs: () => number;
  /** The folder of a worktree, or undefined while it is being made. Throws when there will be none. */
  folderOf(worktreeId: string): string | undefined;
  /** Called after every round that changed something. */
  onChange: () => void;
}

const SYNC_MS = 1000;
const RETRY_MS = 500;
/** A job that wrote nothing for so long is looked at every tenth time only. */
const SILENT_MS = 2_000;
const TICKS_OF_SILENT = 10;

/** Owns the jobs that have a process: starts them when a slot is free, keeps them going, lets go of them at the end. */
export class JobRunner {
  readonly #deps: RunnerDeps;
  readonly #live = new Map<string, LiveJob>();
  readonly #watches = new Map<string, Watch>();
  readonly #launching = new Map<string, Promise<void>>();
  readonly #rounds = new Map<string, Promise<void>>();
  readonly #again = new Set<string>();
  readonly #lending = new Map<string, number>();
  readonly #awake: AwakeTime;
  /** Storing a batch is synchronous: one a turn of the event loop, or thirty busy jobs would hold up every answer. */
  readonly #turns = new Limiter();
  #onOver: ((jobId: string) => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #ticks = 0;
  #seenSeq = 0;
  #syncedAt = 0;
  #mayStart = true;
  #isClosed = false;

  constructor(deps: RunnerDeps) {
    this.#deps = deps;
    this.#awake = new AwakeTime(deps.clock.monotonicMs());
  }

  /** Recovery is the ordinary start: for every stored job it finds the process again, or its end. */
  async start(): Promise<void> {
    const stored = this.#deps.storage.store.jobs.live<JobRuntime>();
    for (const record of stored) this.#recover(record);
    const recovered = stored.filter(({ job }) => this.#live.has(job.id));
    await Promise.all(recovered.map(({ job }) => this.#deps.jobSockets.open(job)));
    await this.#sweepLeftovers();
    this.#seenSeq = this.#deps.storage.store.events.lastSeq();
    this.#schedule();
  }

  /** Called when a process is gone and its end is stored. */
  whenOver(listener: (jobId: string) => void): void {
    this.#onOver = listener;
  }

  get(id: string): LiveJob | undefined {
    return this.#live.get(id);
  }

  get liveCount(): number {
    return this.#live.size + this.#launching.size;
  }

  /** Something was queued or sent: look now instead of at the next tick. */
  kick(id?: string): void {
    this.#mayStart = true;
    if (id !== undefined) this.#round(id);
    this.#fillSlots();
    this.#announce();
  }

  /** The holders of all slots, if each of them waits for an answer; else none. */
  asking(): string[] {
    const { storage, maxJobs } = this.#deps;
    const jobs = storage.store.jobs.live<JobRuntime>().map(({ job }) => job);
    const holders = jobs.filter((job) => this.#holdsSlot(job) && !this.#lending.has(job.id));
    const areAllAsking = holders.every(({ status }) => status === 'awaiting_input');
    return areAllAsking && holders.length >= maxJobs() ? holders.map(({ id }) => id) : [];
  }

  /** A parent that waits for its children gives its slot to them; call the result when it goes on. */
  lend(id: string): () => void {
    this.#lending.set(id, (this.#lending.get(id) ?? 0) + 1);
    this.kick();
    return () => {
      const left = (this.#lending.get(id) ?? 1) - 1;
      if (left > 0) this.#lending.set(id, left);
      else this.#lending.delete(id);
    };
  }

  /** Resolves when a launch that is under way has a process or has failed. */
  async launched(id: string): Promise<void> {
    await this.#launching.get(id);
  }

  /** Lets go of all processes; they run on, and the next start finds them. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await Promise.all(this.#launching.values());
    await Promise.all(this.#rounds.values());
    await Promise.all([...this.#live.values()].map((live) => live.close()));
    for (const watch of this.#watches.values()) watch.close();
    this.#live.clear();
  }

  #recover({ job, runtime }: JobRecord<JobRuntime>): void {
    const dir = join(jobDir(this.#deps.homeDir, job.id), String(job.launch));
    if (runtime.isLaunching) {
      const { identity } = abandonLaunch(dir) === 'started' ? readLaunch(dir) : {};
      if (identity) {
        noteStarted(this.#deps, job.id, { identity });
        this.#attach(job.id, identity, { isFresh: false });
        return;
      }
      forgetLaunch(this.#deps, job.id);
      if (job.sandbox === 'bubblewrap') this.#deps.guards.leave(job.cwd, runtime.links);
      return;
    }
    if (!runtime.hasProcess) return;
    const { pid = 0, pidStartTime: startTime = '', bootId = '' } = job;
    const identity = readLaunch(dir).identity ?? { pid, startTime, bootId };
    this.#attach(job.id, identity, { isFresh: false });
  }

  /** Ends what an earlier daemon could not: processes that carry the tag of a job that is over. */
  async #sweepLeftovers(): Promise<void> {
    const { jobs } = this.#deps.storage.store;
    const tags = new Set((await tagged()).map((process) => process.tag));
    for (const tag of tags) {
      const job = jobs.get<JobRuntime>(tag);
      if (job && !this.#live.has(tag)) await sweep(tag);
    }
    const orphans = await sweepOrphans();
    if (orphans > 0) this.#deps.log.warn('processes of a daemon that was killed have been ended', { orphans });
  }

  #schedule(): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#awake.tick(this.#deps.clock.monotonicMs());
      this.#ticks += 1;
      for (const [id, live] of this.#live) if (this.#isDue(live)) this.#round(id);
      this.#fillSlots();
      this.#sync();
      this.#announce();
      this.#schedule();
    }, this.#deps.timings.tick);
  }

  /** What a silent job writes, or is sent, starts a round of its own: looking as well costs a waiting one all day long. */
  #isDue(live: LiveJob): boolean {
    return live.silentMs() < SILENT_MS || this.#ticks % TICKS_OF_SILENT === 0;
  }

  /** Starts a round of a job. One that is under way may have looked already: another follows it. */
  #round(id: string): void {
    const live = this.#live.get(id);
    if (!live || this.#isClosed) return;
    if (this.#rounds.has(id)) {
      this.#again.add(id);
      return;
    }
    this.#again.delete(id);
    const round = this.#runRound(live).finally(() => {
      this.#rounds.delete(id);
      if (this.#again.has(id)) this.#round(id);
    });
    this.#rounds.set(id, round);
  }

  async #runRound(live: LiveJob): Promise<void> {
    try {
      let state = await live.tick();
      while (state === 'more' && !this.#isClosed) {
        this.#announce();
        state = await live.tick();
      }
      if (state === 'over') await this.#release(live);
    } catch (error) {
      const { code, message } = toReefError(error);
      this.#deps.log.error('a job could not be read', { job: live.id, code, reason: message });
      await this.#deps.clock.sleep(RETRY_MS);
    }
  }

  async #release(live: LiveJob): Promise<void> {
    this.#live.delete(live.id);
    this.#watches.get(live.id)?.close();
    this.#watches.delete(live.id);
    await this.#deps.jobSockets.close(live.id);
    this.#onOver?.(live.id);
    this.#mayStart = true;
    this.#fillSlots();
    this.#announce();
  }

  #attach(id: string, identity: ProcessIdentity, { isFresh }: { isFresh: boolean }): void {
    const { storage, timings, guards, homeDir, registry, log, git } = this.#deps;
    const record = loadJob(storage, id);
    const { adapter } = registry.get(record.job.agent);
    const nextTurn = () => this.#turns.run(() => setImmediate());
    const time = { timings, awakeMs: () => this.#awake.awakeMs, nextTurn };
    const home = new AgentHome({ state: adapter.describe().state, dir: stateDir(homeDir, id), log });
    const deps = { id, adapter, identity, jobDir: jobDir(homeDir, id), storage, guards, git, home, ...time };
    this.#live.set(id, new LiveJob(deps, record, isFresh));
    this.#watches.set(
      id,
      watchFolder(join(deps.jobDir, String(record.job.launch)), () => this.#round(id)),
    );
    this.#round(id);
  }

  #fillSlots(): void {
    if (!this.#mayStart || this.#isClosed) return;
    this.#mayStart = false;
    const jobs = this.#deps.storage.store.jobs.live<JobRuntime>().map(({ job }) => job);
    const queued = jobs
      .filter((job) => job.status === 'queued' && !this.#launching.has(job.id))
      .flatMap((job) => this.#inFolder(job) ?? []);
    const busy = jobs.filter((job) => this.#holdsSlot(job));
    const lending = new Set(this.#lending.keys());
    for (const job of nextToStart({ queued, busy, lending, maxJobs: this.#deps.maxJobs() })) this.#launch(job);
  }

  /** The job with its folder, or undefined while its worktree is being made. A job whose worktree is gone ends here. */
  #inFolder(job: Job): Job | undefined {
    if (job.worktree === undefined) return job;
    try {
      const cwd = this.#deps.folderOf(job.worktree);
      if (cwd === undefined) return undefined;
      if (cwd !== job.cwd) changeJob(this.#deps.storage, job.id, (tx) => Object.assign(tx.job, { cwd }));
      return { ...job, cwd };
    } catch (error) {
      const { code, message } = toReefError(error);
      this.#fail(job, code, message);
      return undefined;
    }
  }

  #holdsSlot(job: Job): boolean {
    return this.#launching.has(job.id) || (this.#live.has(job.id) && job.status !== 'paused');
  }

  #launch(job: Job): void {
    const launching = launchJob(this.#deps, job)
      .then((identity) => this.#attach(job.id, identity, { isFresh: true }))
      .catch((error: unknown) => {
        const { code, message } = toReefError(error);
        this.#fail(job, code === 'internal' ? 'spawn_failed' : code, message);
        return this.#deps.jobSockets.close(job.id);
      })
      .finally(() => {
        this.#launching.delete(job.id);
        this.#mayStart = true;
        this.#announce();
      });
    this.#launching.set(job.id, launching);
  }

  /** A job that never got a process ends with the reason. */
  #fail(job: Job, code: ReefError['code'], message: string): void {
    const { storage, guards } = this.#deps;
    const now = storage.store.jobs.get<JobRuntime>(job.id);
    if (!now || !isLive(now.job.status)) return;
    changeJob(storage, job.id, (tx) => {
      const { retryable } = errorTable[code];
      tx.emit({ type: 'error', payload: { code, message, fatal: true, scope: 'process', retryable } });
      tx.job.endedAt = tx.now();
      tx.runtime.isLaunching = false;
    });
    if (now.runtime.isLaunching && job.sandbox === 'bubblewrap') guards.leave(job.cwd, now.runtime.links);
  }

  /** Ingested output becomes durable at the latest a second after it was read. */
  #sync(): void {
    const now = this.#deps.clock.monotonicMs();
    if (now - this.#syncedAt < SYNC_MS) return;
    this.#syncedAt = now;
    try {
      this.#deps.storage.store.sync();
    } catch (error) {
      this.#deps.log.error('the database cannot be synced', { reason: toReefError(error).message });
    }
  }

  #announce(): void {
    const seq = this.#deps.storage.store.events.lastSeq();
    if (seq === this.#seenSeq) return;
    this.#seenSeq = seq;
    this.#mayStart = true;
    this.#deps.signal.notify();
    this.#deps.onChange();
  }
}

/**
 * Which jobs may start now. Children go before roots, then first come, first served. Paused jobs hold no slot, and a
 * parent that waits for its children lends them its own, so that a family cannot starve itself.
 */
export function nextToStart(state: {
  queued: Job[];
  /** Jobs with a process that works or waits for an answer. */
  busy: Job[];
  lending: ReadonlySet<string>;
  maxJobs: number;
}): Job[] {
  const held = state.busy.filter((job) => !state.lending.has(job.id)).length;
  const free = Math.max(0, state.maxJobs - held);
  const byAge = state.queued.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const [children, roots] = [byAge.filter(({ depth }) => depth > 0), byAge.filter(({ depth }) => depth === 0)];
  return [...children, ...roots].slice(0, free);
}
