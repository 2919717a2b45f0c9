import { unguard } from '../process/sandbox.ts';
import type { Store } from '../store/store.ts';
import type { JobRuntime } from './job-runtime.ts';
import { guardedIn } from './sandbox.ts';

/** Folders in which something runs in a sandbox: the last that leaves one takes away what guards it. */
export class GuardedFolders {
  readonly #store: Store;
  /** The folder of each gate. A gate ends with the daemon, so it is stored nowhere. */
  readonly #gates = new Map<symbol, string>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** A gate begins there; call the result when it is over. */
  enter(cwd: string): () => void {
    const gate = Symbol(cwd);
    this.#gates.set(gate, cwd);
    return () => {
      this.#gates.delete(gate);
      this.leave(cwd);
    };
  }

  /** A job that rests may still have a process, and one that is queued may be about to. */
  leave(cwd: string): void {
    if ([...this.#gates.values()].includes(cwd)) return;
    const live = this.#store.jobs.live<JobRuntime>();
    const isKept = live.some(
      ({ job, runtime }) => job.sandbox !== 'none' && job.cwd === cwd && (runtime.hasProcess || runtime.isLaunching),
    );
    if (!isKept) unguard(guardedIn(cwd));
  }
}
