import type { JobManager } from '../../agents/job-manager.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { Caller } from '../../protocol/operations.ts';
import type { Store } from '../../store/store.ts';
import type { BroughtTask } from '../../worktrees/make/bring.ts';
import type { GitWorktreeManager } from '../../worktrees/manager.ts';
import { titleOf } from '../../worktrees/queue.ts';
import type { RunSpec, StoredRun } from './spec.ts';
import type { RunStarter } from './start.ts';

interface MovingDeps {
  store: Store;
  worktrees: GitWorktreeManager;
  starter: RunStarter;
  jobs: Pick<JobManager, 'kill'>;
  clock: Clock;
  log: Logger;
}

/** What another host needs to know of a run, besides its journal and its commits. */
export interface MovedRun {
  doc: RunSpec;
  worktree: Pick<BroughtTask, 'title' | 'base' | 'plan' | 'group'>;
}

const taskOf = (runId: string, times: number) => `${runId} moved ${times}`;

const REEF: Caller = { by: 'reef:fleet', surface: 'cli' };
const MOST_TRIES = 30;
const PAUSE_MS = 1_000;

/** Runs that come from another host of a fleet, and runs that go to one. */
export class MovingRuns {
  readonly #deps: MovingDeps;

  constructor(deps: MovingDeps) {
    this.#deps = deps;
  }

  /** The folder of all worktrees: a path below it means nothing elsewhere. */
  get folder(): string {
    return this.#deps.worktrees.root;
  }

  /** Where the run works here; undefined: nowhere. */
  worktreeOf(runId: string): { id: string; path: string | null; branch: string } | undefined {
    const run = this.#open(runId);
    return run && run.worktreeId !== '' ? this.#deps.worktrees.record(run.worktreeId) : undefined;
  }

  /** Runs of this home that are not over, as far as it knows. */
  get open(): Pick<StoredRun, 'id' | 'state' | 'worktreeId'>[] {
    return this.#deps.store.runs.open();
  }

  /** The worktree of a branch, by the key of the step that made it. */
  worktreeOfTask(key: string): string | undefined {
    return this.#deps.worktrees.idOfTask(key);
  }

  describe(runId: string): (MovedRun & { worktreeId: string }) | undefined {
    const run = this.#open(runId);
    if (!run || run.worktreeId === '') return undefined;
    const { doc, worktreeId } = run;
    const { base, changePlan } = this.#deps.worktrees.record(worktreeId);
    const group = doc.group === undefined ? {} : { group: doc.group };
    return { doc, worktree: { title: titleOf(doc.task), base, plan: changePlan, ...group }, worktreeId };
  }

  /** Makes a worktree from what the last finished block left, sets it up, and goes on there. */
  async take(runId: string, { doc, worktree }: MovedRun, { from, times }: { from: string | undefined; times: number }) {
    const { store, worktrees, starter } = this.#deps;
    if (this.#open(runId)) this.forget(runId); // what it had here before is stale
    const { id } = await worktrees.bring({ ...worktree, taskId: taskOf(runId, times), from });
    const run: StoredRun = { id: runId, worktreeId: id, state: 'waiting', doc };
    store.commit(() => {
      if (!store.runs.get(runId)) return store.runs.insert(run);
      store.runs.setWorktree(runId, id);
      store.runs.move(runId, 'waiting');
    });
    starter.begin(run);
  }

  /** Its worktree is made or being made. */
  isTaken(runId: string, times: number): boolean {
    const run = this.#open(runId);
    return run?.state === 'waiting' && run.worktreeId === this.worktreeOfTask(taskOf(runId, times));
  }

  goOn(runId: string): void {
    const run = this.#open(runId);
    if (run) this.#deps.starter.begin(run);
  }

  /** Another host has it: here it is over, and whatever works for it ends. `cleanUp` puts its work aside. */
  forget(runId: string): void {
    const { store, starter } = this.#deps;
    starter.forget(runId);
    store.commit(() => store.runs.move(runId, 'over'));
  }

  /** The work of this host is kept on a ref, as when a worktree is discarded. */
  async cleanUp(runId: string, worktreeId: string): Promise<void> {
    const { store, worktrees, jobs, clock, log } = this.#deps;
    for (const { jobId } of store.blocks.ofRun(runId)) await jobs.kill({ id: jobId }, REEF).catch(() => undefined);
    for (let tries = 1; worktreeId !== ''; tries++) {
      try {
        await worktrees.discard(worktreeId);
        break;
      } catch (error) {
        if (tries === MOST_TRIES)
          return log.warn('the worktree of a run that moved stays', { runId, worktreeId, error });
        await clock.sleep(PAUSE_MS); // what works there ends
      }
    }
    await this.#deps.starter.dropBranches();
  }

  #open(runId: string): StoredRun | undefined {
    const run = this.#deps.store.runs.get<RunSpec>(runId);
    return run?.state === 'over' ? undefined : run;
  }

  /** Large content that the journal only names. */
  blob(address: string): Uint8Array | undefined {
    return this.#deps.store.journal.getBlob(address);
  }

  keepBlob(address: string, bytes: Uint8Array): void {
    this.#deps.store.commit(() => this.#deps.store.journal.putBlob(address, bytes));
  }
}
