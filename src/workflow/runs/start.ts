import type { Clock } from '../../base/clock.ts';
import { defined } from '../../base/defined.ts';
import type { Logger } from '../../base/log.ts';
import type { ChangeSignal } from '../../events/change-signal.ts';
import { toReefError } from '../../protocol/errors.ts';
import type { Store } from '../../store/store.ts';
import type { Notice } from '../../worktrees/deps.ts';
import type { GitWorktreeManager } from '../../worktrees/manager.ts';
import { titleOf } from '../../worktrees/queue.ts';
import type { DurableEngine } from '../durable/durable-engine.ts';
import { continueRun, type Going } from './continue.ts';
import { mendThem, resolveThem } from './give-back.ts';
import type { Once } from './once.ts';
import type { RunSpec, StoredRun } from './spec.ts';
import type { WorkflowRuns } from './workflow-runs.ts';

interface StarterDeps {
  store: Store;
  engine: DurableEngine;
  runs: WorkflowRuns;
  worktrees: GitWorktreeManager;
  signal: ChangeSignal;
  clock: Clock;
  log: Logger;
  newId(): string;
  notice(notice: Extract<Notice, { worktreeId: string }>): void;
  /** Only in a fleet. */
  once?: Once | undefined;
}

/** How often work that cannot be merged goes back to its agent by itself. */
const MOST_RETURNS = 2;

/** Takes each run to its end: first a worktree, then the workflow, then the merge if requested. */
export class RunStarter {
  readonly #deps: StarterDeps;
  readonly #ending = new AbortController();
  readonly #under = new Map<string, { going: Promise<void>; forget(): void }>();
  /** Why a run that waits will not start by itself, or was not merged at its end. */
  readonly #obstacles = new Map<string, { code: string; message: string }>();

  constructor(deps: StarterDeps) {
    this.#deps = deps;
  }

  obstacle(runId: string): { code: string; message: string } | undefined {
    return this.#obstacles.get(runId);
  }

  /** Continues every run that is not over and not under way. */
  recover(): void {
    for (const run of this.#deps.store.runs.open<RunSpec>()) this.begin(run);
  }

  begin(run: StoredRun): void {
    if (this.#under.has(run.id) || this.#ending.signal.aborted) return;
    this.#obstacles.delete(run.id);
    const forgotten = new AbortController();
    const signal = AbortSignal.any([this.#ending.signal, forgotten.signal]);
    const under = {
      forget: () => forgotten.abort(new Error('another host has this run')),
      going: this.#go(run, signal)
        .catch((error: unknown) => this.#giveUp(run, error, signal))
        .finally(() => {
          if (this.#under.get(run.id) === under) this.#under.delete(run.id);
          this.#deps.signal.notify();
        }),
    };
    this.#under.set(run.id, under);
  }

  /** Another host goes on with it: nothing here takes it to its end. */
  forget(runId: string): void {
    this.#under.get(runId)?.forget();
    this.#under.delete(runId);
    this.#obstacles.set(runId, { code: 'job_superseded', message: 'Another host of the fleet goes on with it.' });
  }

  async close(): Promise<void> {
    this.#ending.abort(new Error('the daemon ends'));
    await Promise.all([...this.#under.values()].map(({ going }) => going));
  }

  async #go(run: StoredRun, signal: AbortSignal): Promise<void> {
    const { store, runs, engine, worktrees } = this.#deps;
    const worktreeId = run.worktreeId === '' ? await this.assignWorktree(run) : run.worktreeId;
    if (run.state === 'waiting') {
      const { path } = await worktrees.whenReady(worktreeId, signal);
      if (path === null) throw new Error('its worktree has ended');
      await runs.start({ ...inputOf(run.doc), runId: run.id, worktree: { id: worktreeId, path } });
      if (!store.commit(() => this.#hasBegun(run))) await engine.cancel(run.id, 'aborted before it began');
    }
    const end = await engine.result(run.id, { abort: signal });
    const isSuccess = end.status === 'completed' && (end.value as { outcome?: string }).outcome === 'success';
    if (isSuccess && run.doc.accept) await this.#merge(run, worktreeId);
    if (end.status === 'stuck') return;
    store.commit(() => store.runs.move(run.id, 'over'));
    // Its end is stored before its steps have let go: one of them may still make the worktree of a branch, or end its job.
    if (end.status === 'cancelled') await engine.cancel(run.id, end.reason);
    await this.dropBranches();
  }

  /** Branches of forks that were cancelled, or left by a daemon that died, have no run any more. */
  async dropBranches(): Promise<void> {
    const { store, worktrees } = this.#deps;
    await worktrees.dropBranches((root) => store.runs.byWorktree(root).every(({ state }) => state === 'over'));
  }

  /** False if somebody ended it meanwhile. */
  #hasBegun({ id }: StoredRun): boolean {
    const { runs } = this.#deps.store;
    const isWanted = runs.get(id)?.state !== 'over';
    if (isWanted) runs.move(id, 'begun');
    return isWanted;
  }

  /** A run that has ended goes on as another one in the same worktree. */
  async goOn(ended: StoredRun, going: Going): Promise<StoredRun> {
    const run = await continueRun(this.#deps, ended, going);
    this.begin(run);
    return run;
  }

  /**
   * Merges are made one by one for each target. What cannot be merged goes back to its agent with what the gates said or what
   * conflicts, a few times; then the work stays and a person is told. Nobody waits for it meanwhile.
   */
  async #merge(run: StoredRun, worktreeId: string): Promise<void> {
    const { status, pending } = await this.#deps.worktrees.view(worktreeId);
    if (pending || (status !== 'running' && status !== 'accepting')) return;
    try {
      await this.#accept(run.id, worktreeId);
    } catch (error) {
      if (await this.#giveBack(run, worktreeId, error)) return;
      const { code, message } = toReefError(error);
      this.#obstacles.set(run.id, { code, message });
      this.#deps.notice({ kind: 'accept_failed', worktreeId, message: `run ${run.id}: ${code}: ${message}` });
    }
  }

  async #accept(run: string, worktreeId: string): Promise<void> {
    const { worktrees, once } = this.#deps;
    const act = () => worktrees.accept(worktreeId, { whenClean: true });
    if (!once) return void (await act());
    const happened = async () => {
      const { status } = await worktrees.view(worktreeId);
      return status === 'accepted' ? { worktreeId } : undefined;
    };
    const alone = worktrees.record(worktreeId).base.branch;
    await once<object>({ key: `accept ${run}`, run, kind: 'accept', alone, happened, act });
  }

  async #giveBack(run: StoredRun, worktreeId: string, error: unknown): Promise<boolean> {
    const { code } = toReefError(error);
    const returns = (run.doc.continues?.returns ?? 0) + 1;
    if ((code !== 'gates_failed' && code !== 'merge_conflict') || returns > MOST_RETURNS) return false;
    const { status, target, files } = await this.#deps.worktrees.update(worktreeId);
    const guidance = status === 'conflict' ? resolveThem(target, files) : mendThem(error, target);
    if (guidance === undefined) return false;
    const key = `returned ${run.id}`; // after a kill it is given back once more, not twice
    await this.goOn(run, { guidance, by: 'reef:merge', returns, key });
    return true;
  }

  /** The same run always gets the same worktree. */
  async assignWorktree({ id, doc }: StoredRun): Promise<string> {
    const { plan, base, priority, anyway, task, group } = doc;
    const wanted = defined({ base, priority, group });
    const record = await this.#deps.worktrees.submit({ taskId: id, title: titleOf(task), plan, anyway, ...wanted });
    this.#deps.store.commit(() => this.#deps.store.runs.setWorktree(id, record.id));
    return record.id;
  }

  #giveUp(run: StoredRun, error: unknown, signal: AbortSignal): void {
    if (signal.aborted) return;
    const { code, message } = toReefError(error);
    this.#obstacles.set(run.id, { code, message });
    this.#deps.log.warn('a run does not go on', { run: run.id, code, reason: message });
  }
}

function inputOf(doc: RunSpec) {
  const { task, node, manifest, gates, agent, fallbacks, model, stepping, autoResume, budget, continued } = doc;
  const chosen = {
    ...(agent !== undefined && { agent }),
    ...(fallbacks && { fallbacks }),
    ...(model !== undefined && { model }),
    ...(continued && { continued }),
  };
  return { task, node, manifest, gates, stepping, autoResume, budget, ...chosen };
}

interface EndDeps {
  store: Store;
  engine: Pick<DurableEngine, 'cancel'>;
}

type Discarding = EndDeps & { worktrees: Pick<GitWorktreeManager, 'discard'> };

/** Ends a run and its agents; its worktree stays. The worktree of a run that never began goes too. */
export async function endRun({ store, engine, worktrees }: Discarding, run: StoredRun, reason: string): Promise<void> {
  if (run.state === 'over') return;
  if (run.state === 'begun') return engine.cancel(run.id, reason);
  store.commit(() => store.runs.move(run.id, 'over'));
  if (run.worktreeId !== '') await worktrees.discard(run.worktreeId);
}

/** Ends the runs that a job started. One failure does not keep the others. */
export async function endRunsOf(deps: Discarding, jobId: string): Promise<void> {
  const theirs = deps.store.runs.open<RunSpec>().filter(({ doc }) => doc.leave.parentId === jobId);
  const ends = await Promise.allSettled(theirs.map((run) => endRun(deps, run, `aborted by the end of ${jobId}`)));
  const failed = ends.find((end) => end.status === 'rejected');
  if (failed) throw failed.reason;
}

/** Ends the runs of a worktree that is about to go. */
export async function endRunsIn({ store, engine }: EndDeps, worktreeId: string): Promise<void> {
  for (const { id, state } of store.runs.byWorktree<RunSpec>(worktreeId)) {
    if (state === 'begun') await engine.cancel(id, 'its worktree ends');
    if (state === 'waiting') store.commit(() => store.runs.move(id, 'over'));
  }
}
