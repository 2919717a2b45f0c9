import type { Clock } from '../../base/clock.ts';
import type { Store } from '../../store/store.ts';
import type { GitWorktreeManager } from '../../worktrees/manager.ts';
import { blockIn } from '../language/names.ts';
import type { Continued } from '../run/branch-run.ts';
import type { RunSpec, StoredRun } from './spec.ts';

export interface ContinueDeps {
  store: Store;
  clock: Clock;
  worktrees: GitWorktreeManager;
  newId(): string;
}

export interface Going {
  guidance: string;
  by: string;
  agent?: string | undefined;
  accept?: boolean | undefined;
  /** The same key goes on once, however often it is asked. */
  key?: string | undefined;
  /** How often work came back from the merge. */
  returns?: number;
}

/**
 * A run that goes on with one that has ended: the same task, workflow, gates and permissions, in the same worktree, on the
 * files as they are. The ended one stays as it was recorded.
 */
export async function continueRun(deps: ContinueDeps, ended: StoredRun, going: Going): Promise<StoredRun> {
  const { store, clock, worktrees, newId } = deps;
  const known = going.key === undefined ? undefined : store.runs.byKey<RunSpec>(going.key);
  if (known) return known;
  const hasWorktree = ended.worktreeId !== '' && (await worktrees.reopen(ended.worktreeId));
  const at = clock.now().toISOString();
  const { agent = ended.doc.agent, accept = ended.doc.accept, guidance, by, returns = 0 } = going;
  const doc: RunSpec = {
    ...ended.doc,
    ...(agent !== undefined && { agent }),
    accept,
    by,
    createdAt: at,
    continues: { runId: ended.id, returns },
    continued: { guidance, at, ...sessionOf(store, ended, agent) },
  };
  const run: StoredRun = { id: newId(), worktreeId: hasWorktree ? ended.worktreeId : '', state: 'waiting', doc };
  return store.commit(() => {
    const before = going.key === undefined ? undefined : store.runs.byKey<RunSpec>(going.key);
    if (!before) store.runs.insert(run, going.key);
    if (ended.state !== 'over') store.runs.move(ended.id, 'over');
    return before ?? run;
  });
}

/** The newest job of the block with which the run begins, if the same agent goes on. */
function sessionOf(store: Store, { id, doc }: StoredRun, agent: string | undefined): Pick<Continued, 'session'> {
  const block = doc.manifest.nodes[doc.node]?.entry_block ?? doc.node;
  if (agent !== doc.agent || blockIn(doc.manifest, block) === undefined) return {};
  const jobs = store.blocks.ofRun(id).filter((each) => each.block === block && each.branch === 'main');
  const jobId = jobs.at(-1)?.jobId;
  return jobId === undefined ? {} : { session: { jobId, block } };
}
