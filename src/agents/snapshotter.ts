import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../base/clock.ts';
import type { AgentEvent } from '../protocol/events.ts';
import { takeWork } from '../store/kept-work.ts';
import type { StoredQuestion } from '../store/question-table.ts';
import type { PersistenceHook, Snapshot } from '../store/snapshot-file.ts';
import type { Store } from '../store/store.ts';
import type { JobRuntime } from './job-runtime.ts';
import { isLive } from './job-status.ts';

const DEBOUNCE_MS = 1000;
const TAIL_EVENTS = 200;
const TAIL_BYTES = 64 * 1024;
export const COMPLETED_KEPT = 20;

interface SnapshotDeps {
  store: Store;
  hook: PersistenceHook;
  clock: Clock;
  redact: <T>(value: T) => T;
  onFailure: (error: unknown) => void;
}

/** Keeps `state.json` up to date: at most one write a second, one at a time, and nobody waits for it. */
export class Snapshotter {
  readonly #deps: SnapshotDeps;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();
  #isBehind = false;
  #isAbandoned = false;

  constructor(deps: SnapshotDeps) {
    this.#deps = deps;
  }

  changed(): void {
    this.#isBehind = true;
    this.#schedule();
  }

  /** The last state is on disk when this resolves. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    this.#isBehind = false;
    await this.#writing;
    await this.#save();
  }

  /** From now on nothing is written: the file at its path may be another home's. */
  abandon(): void {
    this.#isAbandoned = true;
  }

  /** The timer is kept until its write is done, so that on a slow disk writes do not queue up. */
  #schedule(): void {
    if (!this.#isBehind) return;
    this.#timer ??= setTimeout(() => {
      this.#isBehind = false;
      this.#writing = this.#save().then(() => {
        this.#timer = undefined;
        this.#schedule();
      });
    }, DEBOUNCE_MS);
  }

  async #save(): Promise<void> {
    try {
      const snapshot = await takeSnapshot(this.#deps);
      if (!this.#isAbandoned) await this.#deps.hook.save(snapshot);
    } catch (error) {
      this.#deps.onFailure(error);
    }
  }
}

/** Reads job by job with a turn of the event loop between, so that fifty jobs hold up nobody. */
export async function takeSnapshot(deps: Pick<SnapshotDeps, 'store' | 'clock' | 'redact'>): Promise<Snapshot> {
  const { store, clock } = deps;
  const snapshot: Snapshot = {
    version: 1,
    writtenAt: clock.now().toISOString(),
    lastSeq: store.events.lastSeq(),
    active: [],
    completed: [],
    tails: {},
    runtimes: {},
    questions: [],
    outbox: [],
  };
  const jobs = [...store.jobs.live<JobRuntime>(), ...store.jobs.lastEnded<JobRuntime>(COMPLETED_KEPT)];
  for (const { job } of jobs) {
    await setImmediate();
    addJob(snapshot, deps, job.id);
  }
  const work = takeWork(store);
  return work.worktrees.length + work.runs.length > 0 ? { ...snapshot, work } : snapshot;
}

function addJob(snapshot: Snapshot, { store, redact }: Pick<SnapshotDeps, 'store' | 'redact'>, id: string): void {
  const record = store.jobs.get<JobRuntime>(id);
  if (!record) return;
  const { job, runtime } = record;
  snapshot.tails[id] = boundedTail(store, id);
  // An ended job is no longer read: its adapter's state goes, what a resume takes over stays.
  snapshot.runtimes[id] = isLive(job.status) ? redact(runtime) : { ...runtime, adapter: null };
  if (!isLive(job.status)) {
    snapshot.completed.push(job);
    return;
  }
  snapshot.active.push(job);
  const questions = store.questions.unclosedOf(id);
  snapshot.questions.push(
    ...questions.map((row) => (isSecret(row) ? { ...withoutAnswer(row), state: 'open' as const } : redact(row))),
  );
  const secret = new Set(questions.filter(isSecret).map(({ question }) => question.requestId));
  snapshot.outbox.push(
    ...store.outbox
      .open(id)
      .filter(({ ref }) => !secret.has(ref))
      .map((row) => redact(row)),
  );
}

/**
 * A password that a person typed, which Reef could not find again in a text: it stays in the database until the agent has it.
 * If the database is lost meanwhile, the person is asked once more.
 */
function isSecret({ question, state }: StoredQuestion): boolean {
  return question.secret && state === 'answered';
}

function withoutAnswer({ answer: _, ...row }: StoredQuestion): StoredQuestion {
  return row;
}

/** The newest events that fit into 200 events and 64 KiB; always the newest, because `seq` goes on from it. */
function boundedTail(store: Store, jobId: string): AgentEvent[] {
  const kept: AgentEvent[] = [];
  let room = TAIL_BYTES;
  for (const event of store.events.tail(jobId, TAIL_EVENTS).toReversed()) {
    room -= Buffer.byteLength(JSON.stringify(event));
    if (room < 0 && kept.length > 0) break;
    kept.unshift(event);
  }
  return kept;
}
