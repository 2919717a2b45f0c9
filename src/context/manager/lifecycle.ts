import { readFileSync } from 'node:fs';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { Deaths } from '../../child-servers/deaths.ts';
import type { ProcessIdentity } from '../../process/identity.ts';
import { processRows } from '../../process/process-table.ts';
import { toReefError } from '../../protocol/errors.ts';
import type { Gone, ManagedProcess } from './managed-process.ts';
import type { Timings } from './timings.ts';

interface Activeness {
  /** A run or a job is at work in the worktree. */
  active: boolean;
  /** The worktree is held, discarded or accepted. */
  removed: boolean;
}

export interface ActivitySource {
  onChange(listener: (change: { worktreePath: string } & Activeness) => void): () => void;
}

interface LifecycleDeps {
  clock: Clock;
  log: Pick<Logger, 'warn'>;
  timings: Timings;
  ceilingMb(): number;
  servers: ReadonlyMap<string, ManagedProcess>;
  up(path: string): Promise<void>;
  down(path: string): Promise<void>;
}

/** A server exits with this code to be started again at once. */
const WARM_RESTART = 75;

/** Starts and ends servers by the activity of their worktrees, by silence, by size, and after a death. */
export class Lifecycle {
  readonly #deps: LifecycleDeps;
  readonly #deaths: Deaths;
  readonly #active = new Set<string>();
  readonly #restarts = new Map<string, AbortController>();
  /** Servers above the memory ceiling at the last look. One that exceeds it twice in a row is ended. */
  #large = new Set<ManagedProcess>();
  readonly #closing = new AbortController();
  #isWatching = false;

  constructor(deps: LifecycleDeps) {
    this.#deps = deps;
    const { deathWindow: windowMs, restarts: delaysMs } = deps.timings;
    this.#deaths = new Deaths(deps.clock, { windowMs, offMs: windowMs, delaysMs });
  }

  note(path: string, { active, removed }: Activeness): void {
    const server = this.#deps.servers.get(path);
    server?.activity.touch(); // silence is measured from here
    if (active && !removed) {
      this.#active.add(path);
      const isComing = server !== undefined || this.#restarts.has(path);
      if (!isComing) this.#inBackground(path, this.#deps.up(path));
      return;
    }
    this.#active.delete(path);
    this.cancelRestart(path);
    if (!removed) return;
    this.#deaths.forget((key) => key === path);
    this.#inBackground(path, this.#deps.down(path));
  }

  /** Call after the process tree of a server is gone. A server that was ended on purpose stays down until somebody asks. */
  noteGone(path: string, { why, code, wasStarted }: Gone): void {
    if (why === 'ended' || !wasStarted) return;
    const delayMs = this.#deaths.note(path);
    const isWarm = (why === 'ceiling' || code === WARM_RESTART) && this.unavailableFor(path) === 0;
    this.#deps.log.warn('An analysis server ended', { worktreePath: path, why, code });
    if (this.#active.has(path)) this.#restartAfter(path, isWarm ? 0 : delayMs);
  }

  unavailableFor(path: string): number {
    return this.#deaths.offFor(path);
  }

  cancelRestart(path: string): void {
    this.#restarts.get(path)?.abort();
    this.#restarts.delete(path);
  }

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
    const { clock, timings, servers } = this.#deps;
    const { signal } = this.#closing;
    while (!signal.aborted && servers.size > 0) {
      await clock.sleep(timings.look, signal).catch(() => {});
      if (!signal.aborted) this.#look();
    }
  }

  #look(): void {
    const servers = [...this.#deps.servers.values()];
    for (const server of servers.filter((each) => this.#isSilent(each))) {
      this.#inBackground(server.worktreePath, server.leave('ended'));
    }
    const memoryMb = readTreeMemory();
    const large = servers.filter(({ process }) => process && memoryMb(process.identity) > this.#deps.ceilingMb());
    for (const server of large.filter((each) => this.#large.has(each))) {
      this.#inBackground(server.worktreePath, server.leave('ceiling'));
    }
    this.#large = new Set(large);
  }

  #isSilent({ worktreePath, activity, isBusy }: ManagedProcess): boolean {
    const { clock, timings } = this.#deps;
    const limit = this.#active.has(worktreePath) ? timings.silent : timings.inactive;
    return !isBusy && clock.monotonicMs() - activity.lastAt >= limit;
  }

  #restartAfter(path: string, delayMs: number): void {
    const cancel = new AbortController();
    this.cancelRestart(path);
    this.#restarts.set(path, cancel);
    const restarted = this.#deps.clock.sleep(delayMs, cancel.signal).then(() => {
      this.#restarts.delete(path);
      return this.#deps.up(path);
    });
    this.#inBackground(path, restarted, cancel.signal);
  }

  /** Nobody waits for this work, so a failure is only logged. */
  #inBackground(worktreePath: string, work: Promise<void>, signal?: AbortSignal): void {
    work.catch((error: unknown) => {
      if (signal?.aborted || this.#closing.signal.aborted) return;
      const { code, message } = toReefError(error);
      this.#deps.log.warn('An analysis server is not up', { worktreePath, code, reason: message });
    });
  }
}

/**
 * Reads the resident megabytes of process trees: those of the largest process, which is the server itself. 0 on systems other
 * than Linux, where only the server watches its memory.
 */
function readTreeMemory(): (tree: ProcessIdentity) => number {
  const rows = process.platform === 'linux' ? processRows().filter((row) => row.isAlive) : [];
  return ({ pid }) => {
    const members = rows.filter((row) => row.session === pid);
    return Math.max(0, ...members.map((row) => residentKb(row.pid))) / 1024;
  };
}

function residentKb(pid: number): number {
  try {
    const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1')) ?? [];
    return Number(kilobytes ?? 0);
  } catch {
    return 0; // the process has ended
  }
}
