import type { Store } from '../../store/store.ts';
import type { GitWorktreeManager } from '../../worktrees/manager.ts';
import type { DurableEngine } from '../durable/durable-engine.ts';
import type { RunSpec, StoredRun } from './spec.ts';

interface EndDeps {
  store: Store;
  engine: Pick<DurableEngine, 'cancel'>;
}

type Discarding = EndDeps & { worktrees: Pick<GitWorktreeManager, 'discard'> };

/** Ends a run's agents and nothing else: its worktree stays as it is. Of one that never began the worktree goes too. */
export async function endRun({ store, engine, worktrees }: Discarding, run: StoredRun, reason: string): Promise<void> {
  if (run.state === 'over') return;
  if (run.state === 'begun') return engine.cancel(run.id, reason);
  store.commit(() => store.runs.move(run.id, 'over'));
  if (run.worktreeId !== '') await worktrees.discard(run.worktreeId);
}

/** The runs that a job started end with it. One that cannot be ended keeps none of the others. */
export async function endRunsOf(deps: Discarding, jobId: string): Promise<void> {
  const theirs = deps.store.runs.open<RunSpec>().filter(({ doc }) => doc.leave.parentId === jobId);
  const ends = await Promise.allSettled(theirs.map((run) => endRun(deps, run, `aborted by the end of ${jobId}`)));
  const failed = ends.find((end) => end.status === 'rejected');
  if (failed) throw failed.reason;
}

/** Of a worktree that is about to go. */
export async function endRunsIn({ store, engine }: EndDeps, worktreeId: string): Promise<void> {
  for (const { id, state } of store.runs.byWorktree<RunSpec>(worktreeId)) {
    if (state === 'begun') await engine.cancel(id, 'its worktree ends');
    if (state === 'waiting') store.commit(() => store.runs.move(id, 'over'));
  }
}
