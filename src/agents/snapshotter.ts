import type { Clock } from '../base/clock.ts';
import type { AgentEvent } from '../protocol/events.ts';
import type { PersistenceHook, Snapshot } from '../store/snapshot-file.ts';
import type { Store } from '../store/store.ts';
import type { JobRuntime } from './job-runtime.ts';

const DEBOUNCE_MS = 1000;
const TAIL_EVENTS = 200;
const TAIL_BYTES = 64 * 1024;
export const COMPLETED_KEPT = 20;

interface SnapshotParts {
  store: Store;
  hook: PersistenceHook;
  clock: Clock;
  onFailure: (error: unknown) => void;
}

/** Keeps `state.json` up to date: at most one write a second, one at a time, never in anybody's way. */
export class Snapshotter {
  readonly #parts: SnapshotParts;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();
  #isBehind = false;

  constructor(parts: SnapshotParts) {
    this.#parts = parts;
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

  /** The timer stands until its write is done: on a slow disk changes wait, they do not queue up as writes. */
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
      await this.#parts.hook.save(takeSnapshot(this.#parts.store, this.#parts.clock));
    } catch (error) {
      this.#parts.onFailure(error);
    }
  }
}

export function takeSnapshot(store: Store, clock: Clock): Snapshot {
  const active = store.jobs.live<JobRuntime>();
  const completed = store.jobs.lastEnded<JobRuntime>(COMPLETED_KEPT);
  const tails = [...active, ...completed].map(({ job }) => [job.id, boundedTail(store, job.id)] as const);
  return {
    version: 1,
    writtenAt: clock.now().toISOString(),
    lastSeq: store.events.lastSeq(),
    active: active.map(({ job }) => job),
    completed: completed.map(({ job }) => job),
    tails: Object.fromEntries(tails),
    // An ended job is read no more: what its adapter knew goes, what a resume takes over stays.
    runtimes: Object.fromEntries([
      ...active.map(({ job, runtime }) => [job.id, runtime]),
      ...completed.map(({ job, runtime }) => [job.id, { ...runtime, adapter: null }]),
    ]),
    questions: active.flatMap(({ job }) => store.questions.unclosedOf(job.id)),
    outbox: active.flatMap(({ job }) => store.outbox.open(job.id)),
  };
}

/** The newest events that fit: 200 of them or 64 KiB; the newest of all in any case, for `seq` goes on from it. */
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
