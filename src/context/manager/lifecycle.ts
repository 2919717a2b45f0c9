import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { toReefError } from '../../protocol/errors.ts';
import { Deaths } from './deaths.ts';
import type { Gone, ManagedProcess } from './managed-process.ts';
import type { Timings } from './timings.ts';
import { readTreeMemory } from './tree-memory.ts';

export interface Activeness {
  /** A run or a job is at work in the worktree. */
  active: boolean;
  /** It was held, discarded or accepted. */
  removed: boolean;
}

export interface ActivitySource {
  onChange(listener: (change: { worktreePath: string } & Activeness) => void): () => void;
}

interface LifecycleParts {
  clock: Clock;
  log: Pick<Logger, 'warn' | 'info'>;
  timings: Timings;
  ceilingMb: number;
  servers(): Iterable<ManagedProcess>;
  up(path: string): Promise<void>;
  down(path: string): Promise<void>;
}

/** The exit code by which a server asks to be started again, warm (C-078). */
const WARM_RESTART = 75;

/** Decides when servers go up and down: with the worktree's activity, by silence, by their size, and after a death. */
export class Lifecycle {
  readonly #parts: LifecycleParts;
  readonly #deaths: Deaths;
  readonly #active = new Set<string>();
  readonly #restarts = new Map<string, AbortController>();
  /** Those above the ceiling at the last look: what is so twice in a row did not help itself. */
  #large = new Set<ManagedProcess>();
  readonly #closing = new AbortController();
  #isWatching = false;

  constructor(parts: LifecycleParts) {
    this.#parts = parts;
    this.#deaths = new Deaths(parts.timings);
  }

  note(path: string, { active, removed }: Activeness): void {
    const server = this.#serverOf(path);
    server?.activity.touch(); // a minute of silence begins here
    if (active && !removed) {
      this.#active.add(path);
      const isComing = server !== undefined || this.#restarts.has(path);
      if (!isComing) this.#inBackground(path, this.#parts.up(path));
      return;
    }
    this.#active.delete(path);
    this.cancelRestart(path);
    if (!removed) return;
    this.#deaths.forget(path);
    this.#inBackground(path, this.#parts.down(path));
  }

  /** After the tree of a server is gone. What was ended on purpose stays down until somebody asks. */
  noteGone(path: string, { why, code, wasStarted }: Gone): void {
    if (why === 'ended' || !wasStarted) return;
    const { clock, log } = this.#parts;
    const delayMs = this.#deaths.note(path, clock.monotonicMs());
    const isWarm = (why === 'ceiling' || code === WARM_RESTART) && this.unavailableFor(path) === 0;
    log.warn('An analysis server ended', { worktreePath: path, why, code });
    if (this.#active.has(path)) this.#restartAfter(path, isWarm ? 0 : delayMs);
  }

  unavailableFor(path: string): number {
    return this.#deaths.unavailableFor(path, this.#parts.clock.monotonicMs());
  }

  cancelRestart(path: string): void {
    this.#restarts.get(path)?.abort();
    this.#restarts.delete(path);
  }

  /** Looks after the servers as long as there are any. */
  watch(): void {
    if (this.#isWatching) return;
    this.#isWatching = true;
    void this.#watch().finally(() => {
      this.#isWatching = false;
    });
  }

  close(): void {
    this.#closing.abort();
    for (const path of this.#restarts.keys()) this.cancelRestart(path);
  }

  async #watch(): Promise<void> {
    const { clock, timings, servers } = this.#parts;
    const { signal } = this.#closing;
    while (!signal.aborted && [...servers()].length > 0) {
      await clock.sleep(timings.look, signal).catch(() => {});
      if (!signal.aborted) this.#look();
    }
  }

  #look(): void {
    const servers = [...this.#parts.servers()];
    for (const server of servers.filter((each) => this.#isSilent(each))) {
      this.#inBackground(server.worktreePath, server.leave('ended'));
    }
    const memoryMb = readTreeMemory();
    const large = servers.filter(({ process }) => process && memoryMb(process.identity) > this.#parts.ceilingMb);
    for (const server of large.filter((each) => this.#large.has(each))) {
      this.#inBackground(server.worktreePath, server.leave('ceiling'));
    }
    this.#large = new Set(large);
  }

  #isSilent({ worktreePath, activity, isBusy }: ManagedProcess): boolean {
    const { clock, timings } = this.#parts;
    const limit = this.#active.has(worktreePath) ? timings.silent : timings.inactive;
    return !isBusy && clock.monotonicMs() - activity.lastAt >= limit;
  }

  #restartAfter(path: string, delayMs: number): void {
    const cancel = new AbortController();
    this.cancelRestart(path);
    this.#restarts.set(path, cancel);
    const restarted = this.#parts.clock.sleep(delayMs, cancel.signal).then(() => {
      this.#restarts.delete(path);
      return this.#parts.up(path);
    });
    this.#inBackground(path, restarted, cancel.signal);
  }

  /** No block or job waits for these, so a failure is only told. */
  #inBackground(worktreePath: string, work: Promise<void>, signal?: AbortSignal): void {
    work.catch((error: unknown) => {
      if (signal?.aborted || this.#closing.signal.aborted) return;
      const { code, message } = toReefError(error);
      this.#parts.log.warn('An analysis server is not up', { worktreePath, code, reason: message });
    });
  }

  #serverOf(path: string): ManagedProcess | undefined {
    return [...this.#parts.servers()].find(({ worktreePath }) => worktreePath === path);
  }
}
