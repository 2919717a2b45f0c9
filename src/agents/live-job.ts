import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { adopt, type ProcessIdentity } from '../process/identity.ts';
import { readLaunch } from '../process/launch-folder.ts';
import { openTerminal, type TmuxTerminal } from '../process/terminal.ts';
import { endTree } from '../process/tree.ts';
import type { JobRecord } from '../store/job-table.ts';
import type { Adapter } from './adapter.ts';
import type { AgentHome } from './agent-state.ts';
import { checkBudget } from './budget.ts';
import { Delivery } from './delivery.ts';
import { closeTurn, flushText } from './effects.ts';
import { endLaunch, type ProcessEnd } from './ending.ts';
import { type Batch, ingest, RawOutput } from './ingest.ts';
import type { Ending, JobRuntime } from './job-runtime.ts';
import { type JobStorage, JobTransaction, loadJob } from './job-transaction.ts';
import type { JobGit } from './launcher.ts';
import type { OutboxDoc } from './outbox.ts';
import { type GuardedFolders, SCRATCH } from './sandbox.ts';
import { forMode } from './terminal/headful.ts';
import { Keyboard } from './terminal/keyboard.ts';
import type { Timings } from './timings.ts';

const OUTPUT_LIMIT = 1024 ** 3;
/** How often a silent process is looked for in the process table, and its working time stored. */
const LOOK_MS = 1000;
const CARRY_MS = 2000;
/** Nothing else happens while lines are understood: calls and other jobs wait so long. */
const MOST_MS_AT_ONCE = 6;
const NOTED_WITHIN_MS = 2_000;
const SAVE_WORK_MS = 5000;

interface LiveJobDeps {
  id: string;
  adapter: Adapter;
  identity: ProcessIdentity;
  jobDir: string;
  storage: JobStorage;
  timings: Timings;
  /** Time in which the daemon was awake: while the machine sleeps, every deadline moves. */
  awakeMs: () => number;
  /** Resolves when this job may store its next batch. */
  nextTurn: () => Promise<void>;
  guards: GuardedFolders;
  git: Pick<JobGit, 'settle'>;
  /** What the agent in a sandbox may leave in the user's home. */
  home: AgentHome;
}

/**
 * A job with a process: reads what it writes, writes what waits for it, ends it when its time is over. A fresh launch and
 * one that outlived an earlier daemon go the same way.
 */
export class LiveJob {
  readonly id: string;
  readonly #deps: LiveJobDeps;
  readonly #dir: string;
  readonly #raw: RawOutput;
  readonly #terminal: TmuxTerminal | undefined;
  readonly #delivery: Delivery | Keyboard | undefined;
  #isRecovered: boolean;
  #ending: Promise<unknown> | undefined;
  #launchedAt: number;
  #lastLineAt: number;
  #lastLookAt = 0;
  #carriedAt = 0;
  #quietSince: number | undefined;
  #textSince: number | undefined;
  #tickedAt: number;
  #unsavedWorkMs = 0;
  #wasRunning = false;
  #isToldLate = false;

  constructor(deps: LiveJobDeps, record: JobRecord<JobRuntime>, isFresh: boolean) {
    this.id = deps.id;
    this.#deps = { ...deps, adapter: forMode(deps.adapter, record.job.mode) };
    this.#dir = join(deps.jobDir, String(record.job.launch));
    const now = deps.awakeMs();
    this.#launchedAt = now;
    this.#lastLineAt = now;
    this.#tickedAt = now;
    this.#isRecovered = isFresh;
    this.#raw = new RawOutput({ out: join(this.#dir, 'out'), err: join(this.#dir, 'err') }, record.runtime.read);
    this.#terminal = openTerminal(this.#dir);
    this.#delivery = this.#openDelivery();
  }

  /** An agent that reads its prompt from a file has no FIFO: it is told nothing more. */
  #openDelivery(): Delivery | Keyboard | undefined {
    const { id, storage, awakeMs, adapter, jobDir } = this.#deps;
    const access = {
      waiting: () => storage.store.outbox.open<OutboxDoc>(id),
      commit: <T>(change: (tx: JobTransaction) => T) => this.#record(change),
    };
    if (this.#terminal) {
      const talk = { adapter, jobDir, launchDir: this.#dir };
      return new Keyboard({ terminal: this.#terminal, awakeMs, ...talk, ...access });
    }
    const fifo = join(this.#dir, 'in');
    return existsSync(fifo) ? new Delivery({ adapter, jobDir, fifo, ...access }) : undefined;
  }

  /** Milliseconds since the process last wrote anything; a terminal is not listened to. */
  silentMs(): number {
    return this.#terminal ? 0 : this.#deps.awakeMs() - this.#lastLineAt;
  }

  get isEnding(): boolean {
    return this.#ending !== undefined;
  }

  /** One round. `more`: output is waiting, come again at once. `over`: the process is gone and its end is stored. */
  async tick(): Promise<'more' | 'idle' | 'over'> {
    const batch = await this.#read();
    const hasNews = hasLines(batch);
    const end = hasNews ? undefined : this.#processEnd();
    if (end) {
      await this.#finish(end);
      return 'over';
    }
    if (!hasNews) this.#recover();
    if (this.#isRecovered) await this.#delivery?.deliver();
    this.#watchClocks();
    await this.#carryLogins();
    return batch.isFull ? 'more' : 'idle';
  }

  async #carryLogins(): Promise<void> {
    const now = this.#deps.awakeMs();
    if (now - this.#carriedAt < CARRY_MS) return;
    this.#carriedAt = now;
    await this.#deps.home.carryLogins(this.#load().job);
  }

  /** Begins to end the process; `tick` sees the end. It is recorded first, so that the next daemon goes on with it. */
  end(ending: Ending): void {
    this.#commit((tx) => {
      tx.runtime.ending = ending;
    });
    this.#endTree();
  }

  /** Lets go of files and FIFO; the process runs on. */
  async close(): Promise<void> {
    this.#saveWork();
    this.#delivery?.close();
    await this.#raw.close();
    await this.#ending;
  }

  async #read(): Promise<Batch> {
    await this.#deps.nextTurn();
    const batch = await this.#raw.next();
    if (!hasLines(batch)) return batch;
    this.#lastLineAt = this.#deps.awakeMs();
    const { clock } = this.#deps.storage;
    const end = clock.monotonicMs() + MOST_MS_AT_ONCE;
    try {
      const left = this.#record((tx) => {
        const rest = ingest(tx, this.#deps.adapter, batch, () => clock.monotonicMs() >= end);
        checkBudget(tx);
        return rest;
      });
      this.#raw.giveBack(left);
      return left ? { ...batch, isFull: true } : batch;
    } catch (error) {
      await this.#raw.rewind(this.#load().runtime.read);
      throw error;
    }
  }

  #processEnd(): ProcessEnd | undefined {
    const exit = this.#writtenEnd();
    const now = this.#deps.awakeMs();
    if (exit || now - this.#lastLookAt < LOOK_MS) return exit;
    this.#lastLookAt = now;
    if (adopt(this.#deps.identity) === 'alive') return undefined;
    // It may have written its exit and ended between the two looks.
    return this.#writtenEnd() ?? 'unknown';
  }

  /** `timeout` exits with 124, or with 137 when it had to kill. The start is noted after it, the end in whole seconds. */
  #writtenEnd(): ProcessEnd | undefined {
    const { exit } = readLaunch(this.#dir);
    if (!exit) return undefined;
    const { startedAt = exit.at } = this.#load().job;
    const isLong = Date.parse(exit.at) - Date.parse(startedAt) >= this.#deps.timings.ceiling - NOTED_WITHIN_MS;
    return { ...exit, ceilingReached: isLong && (exit.code === 124 || exit.code === 137) };
  }

  async #finish(end: ProcessEnd): Promise<void> {
    // A wrapper that was killed ended nobody: without this the agent would work on beside the next launch.
    if (end === 'unknown') this.#endTree();
    await this.#ending;
    // Its last lines may have come after the last look at the files.
    while (hasLines(await this.#read()));
    const rest = this.#raw.rest();
    // Before the end is stored: until then the next daemon would come here again.
    const lost = await this.#deps.home.bringBack(this.#load().job);
    const left = await this.#deps.git.settle(this.#load().job);
    // Its home and temporary folder in the sandbox: nothing in them is for anybody else. What cannot be removed stays.
    await rm(join(dirname(this.#dir), SCRATCH), { recursive: true, force: true }).catch(() => undefined);
    this.#commit((tx) => {
      for (const note of [lost, left]) if (note !== undefined) tx.warn(note);
      ingest(tx, this.#deps.adapter, rest);
      if (this.#terminal && end !== 'unknown' && end.code === 0) tx.runtime.turn = { is: 'over', outcome: 'done' };
      endLaunch(tx, end, this.#deps.adapter);
    });
    const { job, runtime } = this.#load();
    if (job.sandbox === 'bubblewrap') this.#deps.guards.leave(job.cwd, runtime.links);
    this.#delivery?.close();
    await this.#raw.close();
  }

  #recover(): void {
    if (this.#isRecovered) return;
    this.#isRecovered = true;
    if (this.#load().runtime.ending) this.#endTree();
    if (this.#delivery?.recover() !== 'torn') return;
    this.#commit((tx) => {
      closeTurn(tx, 'exit');
      tx.runtime.ending = { why: 'limit' };
      tx.emit({ type: 'progress', payload: { kind: 'outage', message: 'a message was torn by a kill of the daemon' } });
    });
    this.#endTree();
  }

  #watchClocks(): void {
    const now = this.#deps.awakeMs();
    const { job, runtime } = this.#load();
    this.#countWork(now, job.status === 'running' && runtime.turn.is === 'open');
    this.#flushOldText(now, runtime);
    if (this.#terminal && !runtime.wasHeard) this.#hear(this.#terminal, now);
    const ending = runtime.ending ?? this.#dueEnding(now, { job, runtime });
    if (!ending || this.#ending) return;
    this.end(ending);
  }

  /** An agent that takes no task yet may ask something that only its terminal shows. */
  #hear(terminal: TmuxTerminal, now: number): void {
    const isLate = !this.#isToldLate && now - this.#launchedAt > this.#deps.timings.start;
    this.#isToldLate ||= isLate;
    if (terminal.isReady()) this.#record((tx) => Object.assign(tx.runtime, { wasHeard: true }));
    else if (isLate) this.#record((tx) => tx.warn(`it takes no task yet: see why with \`reef attach ${this.id}\``));
  }

  #dueEnding(now: number, { job, runtime }: JobRecord<JobRuntime>): Ending | undefined {
    const { timings } = this.#deps;
    if (this.#terminal) return timeUp(runtime);
    if (!runtime.wasHeard && now - this.#launchedAt > timings.start) {
      const message = `nothing was heard of the agent for ${timings.start / 1000} s`;
      return { why: 'failure', fails: { code: 'agent_start_timeout', message } };
    }
    if (runtime.read.out > OUTPUT_LIMIT) {
      return { why: 'failure', fails: { code: 'output_limit', message: 'the job wrote more than 1 GiB' } };
    }
    // An agent that reads nothing cannot be interrupted, and nobody can be asked about its budget.
    if (!this.#delivery && runtime.turn.is === 'open') return timeUp(runtime);
    return this.#endOfRest(now, { job, runtime });
  }

  #endOfRest(now: number, { job, runtime }: JobRecord<JobRuntime>): Ending | undefined {
    const isTurnOver = runtime.turn.is === 'over' || runtime.turn.is === 'failed';
    const isUnused = isTurnOver && (job.status === 'paused' || job.status === 'running');
    this.#quietSince = isUnused ? (this.#quietSince ?? now) : undefined;
    if (this.#quietSince === undefined) return undefined;
    if (now - this.#quietSince < this.#patience(job.status === 'paused')) return undefined;
    return { why: job.status === 'paused' ? 'idle' : 'linger' };
  }

  /** A message on its way may open another turn. An agent that never acknowledges it is not waited for without end. */
  #patience(isPaused: boolean): number {
    const { timings, storage } = this.#deps;
    if (isPaused) return timings.idle;
    const hasMail = storage.store.outbox.open(this.id).length > 0;
    return hasMail ? Math.max(timings.linger, timings.unacknowledged) : timings.linger;
  }

  #countWork(now: number, isRunning: boolean): void {
    if (isRunning && this.#wasRunning) this.#unsavedWorkMs += now - this.#tickedAt;
    this.#wasRunning = isRunning;
    this.#tickedAt = now;
    if (this.#unsavedWorkMs > SAVE_WORK_MS) this.#saveWork();
  }

  #saveWork(): void {
    if (this.#unsavedWorkMs > 0) this.#record((tx) => checkBudget(tx));
  }

  #flushOldText(now: number, runtime: JobRuntime): void {
    this.#textSince = runtime.pendingText ? (this.#textSince ?? now) : undefined;
    if (this.#textSince === undefined || now - this.#textSince < this.#deps.timings.textFlush) return;
    this.#textSince = undefined;
    this.#record((tx) => flushText(tx));
  }

  #endTree(): void {
    const { identity, timings, id } = this.#deps;
    this.#ending ??= endTree({ identity, tag: id }, { graceMs: timings.grace });
  }

  #load(): JobRecord<JobRuntime> {
    return loadJob(this.#deps.storage, this.id);
  }

  #commit<T>(change: (tx: JobTransaction) => T): T {
    return this.#deps.storage.store.commit(() => this.#change(change));
  }

  #record<T>(change: (tx: JobTransaction) => T): T {
    return this.#deps.storage.store.record(() => this.#change(change));
  }

  #change<T>(change: (tx: JobTransaction) => T): T {
    const tx = new JobTransaction(this.#deps.storage, this.#load());
    tx.job.workedMs += Math.round(this.#unsavedWorkMs);
    const result = change(tx);
    tx.save();
    this.#unsavedWorkMs = 0;
    return result;
  }
}

function hasLines(batch: Batch): boolean {
  return batch.out.length + batch.err.length > 0;
}

/** For agents whose turn cannot be interrupted: a budget that is used up ends them, without a question. */
function timeUp({ spent }: JobRuntime): Ending | undefined {
  if (!spent) return undefined;
  const message = `the budget of ${spent.limit} ${spent.what} is used up`;
  return { why: 'failure', fails: { code: 'budget_exhausted', message } };
}
