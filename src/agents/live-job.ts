import { join } from 'node:path';
import { adopt, type ProcessIdentity } from '../process/identity.ts';
import { readLaunch } from '../process/launch-folder.ts';
import { openTerminal, type TmuxTerminal } from '../process/terminal.ts';
import { endTree } from '../process/tree.ts';
import type { JobRecord } from '../store/job-table.ts';
import type { Adapter } from './adapter.ts';
import { checkBudget } from './budget.ts';
import { Delivery } from './delivery.ts';
import { closeTurn, flushNoise, flushText } from './effects.ts';
import { type ProcessEnd, terminalEvent, toExit } from './ending.ts';
import type { GuardedFolders } from './guarded-folders.ts';
import { type Batch, ingest, RawOutput } from './ingest.ts';
import type { Ending, JobRuntime } from './job-runtime.ts';
import { type JobStorage, JobTransaction, loadJob } from './job-transaction.ts';
import type { OutboxDoc } from './outbox.ts';
import { forMode } from './terminal/headful.ts';
import { Keyboard } from './terminal/keyboard.ts';
import type { Timings } from './timings.ts';
import type { Turnstile } from './turnstile.ts';

const OUTPUT_LIMIT = 1024 ** 3;
/** How often a silent process is looked for in the process table, and its working time stored. */
const LOOK_MS = 1000;
const NOTED_WITHIN_MS = 2_000;
const SAVE_WORK_MS = 5000;

interface LiveJobDeps {
  id: string;
  adapter: Adapter;
  identity: ProcessIdentity;
  jobDir: string;
  storage: JobStorage;
  timings: Timings;
  /** Time in which the daemon was awake: sleep and stops move every deadline. */
  awakeMs: () => number;
  turnstile: Turnstile;
  guards: GuardedFolders;
}

/**
 * A job with a process: reads what it writes, writes what waits for it, ends it when its time is over. Made for a fresh
 * launch and for one that outlived an earlier daemon alike; there is no other way in (rule 3 of reliability).
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
    const access: Access = {
      waiting: () => deps.storage.store.outbox.open<OutboxDoc>(deps.id),
      commit: (change) => this.#record(change),
    };
    this.#terminal = openTerminal(this.#dir);
    this.#delivery = this.#terminal
      ? new Keyboard({ terminal: this.#terminal, awakeMs: deps.awakeMs, ...access })
      : openDelivery(deps, this.#dir, access);
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
    return batch.isFull ? 'more' : 'idle';
  }

  /** Asks for the end of the process; `tick` sees it happen. Recorded first, so that a killed daemon goes on with it. */
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
    await this.#deps.turnstile.pass();
    const batch = await this.#raw.next();
    if (!hasLines(batch)) return batch;
    this.#lastLineAt = this.#deps.awakeMs();
    try {
      this.#record((tx) => {
        ingest(tx, this.#deps.adapter, batch);
        checkBudget(tx);
      });
    } catch (error) {
      await this.#raw.rewind(this.#load().runtime.read);
      throw error;
    }
    return batch;
  }

  #processEnd(): ProcessEnd | undefined {
    const { exit } = readLaunch(this.#dir);
    if (exit) return { ...exit, ceilingReached: this.#isCeiling(exit) };
    const now = this.#deps.awakeMs();
    if (now - this.#lastLookAt < LOOK_MS) return undefined;
    this.#lastLookAt = now;
    if (adopt(this.#deps.identity) === 'alive') return undefined;
    // It may have written its exit and ended between the two looks.
    const { exit: late } = readLaunch(this.#dir);
    return late ? { ...late, ceilingReached: this.#isCeiling(late) } : 'unknown';
  }

  /** `timeout` answers 124, or 137 when it had to kill. The start is noted after it, and the end in whole seconds. */
  #isCeiling(exit: { code: number; at: string }): boolean {
    const { startedAt } = this.#load().job;
    const lived = Date.parse(exit.at) - Date.parse(startedAt ?? exit.at);
    return (exit.code === 124 || exit.code === 137) && lived >= this.#deps.timings.ceiling - NOTED_WITHIN_MS;
  }

  async #finish(end: ProcessEnd): Promise<void> {
    await this.#ending;
    // Its last lines may have come between the look at the files and the look at its end.
    while (hasLines(await this.#read()));
    const rest = this.#raw.rest();
    this.#commit((tx) => {
      ingest(tx, this.#deps.adapter, rest);
      closeTurn(tx, 'exit');
      flushNoise(tx);
      if (this.#terminal && end !== 'unknown' && end.code === 0) tx.runtime.turn = { is: 'over', outcome: 'done' };
      tx.emit(terminalEvent({ job: tx.job, runtime: tx.runtime, end, adapter: this.#deps.adapter }));
      noteEnd(tx, end);
    });
    const { sandbox, cwd } = this.#load().job;
    if (sandbox !== 'none') this.#deps.guards.leave(cwd);
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

  /** Before it takes a task, an agent may have something to ask that only its terminal shows. */
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
    // An agent that hears nothing cannot be interrupted, nor go on after a question.
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

  /** A message on its way may open another turn; an agent that never acknowledges is not waited for without end. */
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

type Access = Pick<ConstructorParameters<typeof Delivery>[0], 'waiting' | 'commit'>;

/** A prompt in a file has no way back in: such an agent is told nothing more. */
function openDelivery(deps: LiveJobDeps, dir: string, access: Access): Delivery | undefined {
  const fifo = join(dir, 'in');
  try {
    return new Delivery({ adapter: deps.adapter, jobDir: deps.jobDir, fifo, ...access });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function noteEnd(tx: JobTransaction, end: ProcessEnd): void {
  const { pid: _pid, pidStartTime: _start, bootId: _boot, ...rest } = tx.job;
  const exit = end === 'unknown' ? { code: null, signal: null } : toExit(end.code, '');
  tx.job = {
    ...rest,
    endedAt: end === 'unknown' ? tx.now() : end.at,
    ...(exit.code === null ? {} : { exitCode: exit.code }),
    ...(exit.signal === null ? {} : { signal: exit.signal }),
  };
  tx.runtime.hasProcess = false;
  const staysPaused = tx.job.status === 'paused';
  for (const row of tx.storage.store.outbox.open<OutboxDoc>(tx.job.id)) {
    const isKept = staysPaused && row.doc.kind === 'message';
    tx.storage.store.outbox.move(row.key, isKept ? 'new' : 'failed');
  }
}

/** Whether a terminal's turn is over nobody can tell: no rest, no question is waited for when the budget is used up. */
function timeUp({ spent }: JobRuntime): Ending | undefined {
  if (!spent) return undefined;
  const message = `the budget of ${spent.limit} ${spent.what} is used up`;
  return { why: 'failure', fails: { code: 'budget_exhausted', message } };
}
