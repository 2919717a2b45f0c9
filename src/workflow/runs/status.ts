import type { Caller } from '../../protocol/operations.ts';
import type { RunSummary } from '../../protocol/run-operations.ts';
import type { Halt, Json, RunView } from '../../protocol/workflow.ts';
import type { WorktreeView } from '../../protocol/worktrees.ts';
import type { Store } from '../../store/store.ts';
import type { GitWorktreeManager } from '../../worktrees/manager.ts';
import { attemptsOf } from './attempts.ts';
import { isOfBudget } from './block-agents.ts';
import { isTheirRun, type RunSpec, type StoredRun } from './spec.ts';
import type { RunStarter } from './start.ts';
import { timesOf } from './times.ts';
import type { WorkflowRuns } from './workflow-runs.ts';

interface RunStatusDeps {
  store: Store;
  runs: WorkflowRuns;
  starter: RunStarter;
  worktrees: GitWorktreeManager;
  redact<T>(value: T): T;
}

/** Runs as people, the inbox and worktrees see them. */
export class RunStatus {
  readonly #deps: RunStatusDeps;

  constructor(deps: RunStatusDeps) {
    this.#deps = deps;
  }

  async list(most: number, caller: Caller): Promise<RunSummary[]> {
    const { store } = this.#deps;
    const newest = store.runs.newest<RunSpec>(most);
    const older = store.runs.open<RunSpec>().filter(({ id }) => !newest.some((run) => run.id === id));
    const theirs = [...newest, ...older].filter((run) => isTheirRun(store, run, caller));
    return this.#deps.redact(await Promise.all(theirs.map((run) => this.summary(run))));
  }

  async summary(run: StoredRun): Promise<RunSummary> {
    return (await this.look(run)).summary;
  }

  async look(run: StoredRun): Promise<{ summary: RunSummary; view: RunView | undefined }> {
    const { starter, worktrees } = this.#deps;
    const view = goingOn(run, await this.view(run));
    const worktree = run.worktreeId === '' ? undefined : await worktrees.view(run.worktreeId);
    const isMerged = worktree?.status === 'accepted';
    const obstacle = isMerged ? undefined : starter.obstacle(run.id);
    const because = view?.halt?.message ?? obstacle?.message ?? (worktree && waitsBecause(worktree));
    const endedAt = view && endOf(view);
    const status = this.#status(run, view, { isMerged, isStuck: obstacle !== undefined });
    const summary: RunSummary = {
      runId: run.id,
      task: run.doc.task,
      workflow: run.doc.node,
      worktree: run.worktreeId,
      ...(worktree && startOf(worktree)),
      path: worktree?.path ?? null,
      status,
      block: view?.position?.block ?? null,
      visit: view?.position?.visit ?? null,
      ...(because !== undefined && { because }),
      ...(obstacle && { obstacle: obstacle.code }),
      ...(worktree && this.#behind(worktree)),
      ...(status === 'success' && mergeOf(worktree, run.doc.accept)),
      ...this.#neighbours(run),
      ...this.#attempts(run),
      ...(run.doc.leave.parentId !== undefined && { parentId: run.doc.leave.parentId }),
      createdAt: run.doc.createdAt,
      ...(endedAt !== undefined && { endedAt, ...this.#times(run, worktree, { view, endedAt }) }),
    };
    return { summary, view };
  }

  /** One that goes on with another's work began in a worktree that was there. */
  #times(
    { doc }: StoredRun,
    worktree: WorktreeView | undefined,
    { view, endedAt }: { view: RunView | undefined; endedAt: string },
  ): Pick<RunSummary, 'times'> {
    const setUp = doc.continues ? 0 : (worktree?.setup.seconds ?? 0);
    return view ? { times: timesOf(view, { createdAt: doc.createdAt, endedAt, setUp }) } : {};
  }

  #behind({ id, queue }: WorktreeView): Pick<RunSummary, 'behind'> {
    const behind = queue ? this.#deps.worktrees.waitsBehind(id) : [];
    return behind.length > 0 ? { behind } : {};
  }

  #attempts(run: StoredRun): Pick<RunSummary, 'agent' | 'attempts'> {
    if (run.doc.group === undefined) return {};
    const others = attemptsOf(this.#deps.store, run).filter(({ worktreeId }) => worktreeId !== run.worktreeId);
    return { ...(run.doc.agent !== undefined && { agent: run.doc.agent }), attempts: others.map(({ id }) => id) };
  }

  #neighbours({ id, worktreeId, doc }: StoredRun): Pick<RunSummary, 'continues' | 'continuedBy'> {
    const all = worktreeId === '' ? [] : this.#deps.store.runs.byWorktree<RunSpec>(worktreeId);
    const next = all.find((other) => other.doc.continues?.runId === id);
    return { ...(doc.continues && { continues: doc.continues.runId }), ...(next && { continuedBy: next.id }) };
  }

  /** Undefined if it has not begun. */
  async view({ id }: StoredRun): Promise<RunView | undefined> {
    const { store, runs } = this.#deps;
    return store.journal.after(id, 0, 1).length === 0 ? undefined : runs.view(id);
  }

  /** Runs that halted and ask, for the inbox. */
  async halted(
    caller: Pick<Caller, 'jobId'>,
  ): Promise<{ run: StoredRun; path: string | null; halts: readonly Halt[] }[]> {
    const { store } = this.#deps;
    const open = store.runs.open<RunSpec>().filter((run) => isTheirRun(store, run, caller));
    const begun = open.filter(({ state }) => state === 'begun');
    const looks = await Promise.all(begun.map(async (run) => ({ run, ...(await this.look(run)) })));
    return looks.flatMap(({ run, view, summary }) =>
      view && view.halts.length > 0 ? [{ run, path: summary.path, halts: this.#deps.redact(view.halts) }] : [],
    );
  }

  /** The state of the run, kept with a held worktree. */
  async sessionOf(worktreeId: string): Promise<Json | undefined> {
    const [run] = this.#deps.store.runs.byWorktree<RunSpec>(worktreeId);
    const view = run && (await this.view(run));
    if (!view) return undefined;
    const { position, returnStack, executionLog, stats, seq } = view;
    const executionPayload = Object.values(executionLog).flatMap(({ segments }) => segments);
    const session = { runId: run.id, currentBlockId: position?.block ?? null, returnStack, executionPayload };
    return JSON.parse(JSON.stringify(this.#deps.redact({ ...session, sessionStats: stats, seq })));
  }

  /** Stores the gates of runs that ended before verdicts were stored, for worktrees that are still open. */
  async storeOldVerdicts(): Promise<void> {
    const { store, worktrees } = this.#deps;
    for (const id of worktrees.openIds()) {
      const [run] = store.runs.byWorktree<RunSpec>(id);
      if (!run || !store.journal.find(run.id, 'end', '') || store.verdicts.ofRun(run.id).length > 0) continue;
      const gates = (await this.view(run))?.gates ?? [];
      store.commit(() => store.verdicts.insert(run.id, gates));
    }
  }

  #status(
    run: StoredRun,
    view: RunView | undefined,
    { isMerged, isStuck }: { isMerged: boolean; isStuck: boolean },
  ): RunSummary['status'] {
    if (!view) return run.state === 'over' ? 'aborted' : isStuck ? 'halted' : 'queued';
    // A person merged it although it had halted.
    if (view.outcome === 'aborted' && isMerged) return 'success';
    // One that is to be merged goes on until it is, or cannot be.
    if (view.outcome === 'success' && run.doc.accept && run.state === 'begun' && !isStuck) return 'running';
    if (view.outcome !== 'running') return view.outcome;
    if (run.state === 'over') return 'aborted'; // another host goes on with it
    if (view.isHalted) return 'halted';
    const { store } = this.#deps;
    const jobs = new Set(store.blocks.ofRun(run.id).map(({ jobId }) => jobId));
    const below = store.questions.open().filter(({ question }) => question.path.some((id) => jobs.has(id)));
    const asks = below.some(({ jobId, question }) => !(jobs.has(jobId) && isOfBudget(question)));
    return asks ? 'awaiting_input' : 'running';
  }
}

/** When the last visit of a run that is over ended. */
function endOf({ outcome, executionLog }: RunView): string | undefined {
  if (outcome === 'running') return undefined;
  const ends = Object.values(executionLog).flatMap(({ endedAt }) => endedAt ?? []);
  return ends.sort().at(-1);
}

function mergeOf(worktree: WorktreeView | undefined, isWanted: boolean): Pick<RunSummary, 'merge'> {
  if (worktree?.status === 'accepted') return { merge: 'merged' };
  if (worktree?.pending) return { merge: 'waiting' };
  return isWanted ? { merge: 'not_merged' } : {};
}

function startOf({ base, submodules }: WorktreeView): Pick<RunSummary, 'target' | 'notes'> {
  const notes = [
    ...(base.branch === '' ? [`It starts from the commit ${base.commit.slice(0, 12)}, which is on no branch.`] : []),
    ...(submodules ? [`Submodules are not checked out in its worktree: ${submodules.join(', ')}. ${FILL_THEM}`] : []),
  ];
  return { ...(base.branch !== '' && { target: base.branch }), ...(notes.length > 0 && { notes }) };
}

const FILL_THEM = 'If the task needs them, let `worktree.setup` run `git submodule update --init`.';

/** What a worktree waits for, in the queue or at its merge. */
function waitsBecause({ pending, queue, status }: WorktreeView): string | undefined {
  if (pending) return `it is merged when ${pending.checkout} has no changes of its own (${pending.files.join(', ')})`;
  if (status === 'creating') return 'its worktree is being made and set up';
  const waitsFor = queue?.waitsFor.map(({ worktreeId, files }) => `${worktreeId} (${files.join(', ')})`);
  return waitsFor && `waits for ${waitsFor.join('; ') || 'room: as many tasks as may run at once are at work'}`;
}

/** A limit is waited for unless the run was asked not to. */
function goingOn({ doc }: StoredRun, view: RunView | undefined): RunView | undefined {
  if (!view || !doc.autoResume) return view;
  const halts = view.halts.map((halt) =>
    halt.reason === 'rate_limit' && halt.resumeAt !== undefined ? { ...halt, goesOnAt: halt.resumeAt } : halt,
  );
  return { ...view, halts };
}
