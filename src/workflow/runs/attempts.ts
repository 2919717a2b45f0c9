import type { Attempt, RunSummary } from '../../protocol/run-operations.ts';
import type { WorktreeDiff } from '../../protocol/worktrees.ts';
import type { Store } from '../../store/store.ts';
import type { GitWorktreeManager } from '../../worktrees/manager.ts';
import { reviewOf, type Shown } from './review-attempts.ts';
import type { RunSpec, StoredRun } from './spec.ts';

interface AttemptsDeps {
  store: Store;
  status: { summary(run: StoredRun): Promise<RunSummary> };
  worktrees: Pick<GitWorktreeManager, 'diff'>;
}

/** The newest run of each worktree in which the task is tried, in the order in which they were started. */
export function attemptsOf({ runs }: Store, { id, doc }: StoredRun): StoredRun[] {
  if (doc.group === undefined) return [];
  const all = runs.byGroup<RunSpec>(doc.group);
  const newest = new Map(all.map((run) => [run.worktreeId || run.id, run]));
  return [...newest.values()].length > 1 ? [...newest.values()] : all.filter((run) => run.id === id);
}

/** What became of each attempt at one task, the best first: success, gates, a review, the size of the change, and what it cost. */
export async function compareAttempts(deps: AttemptsDeps, run: StoredRun): Promise<Attempt[]> {
  const looks = await Promise.all(attemptsOf(deps.store, run).map((each) => look(deps, each)));
  const reviews = reviewOf(deps.store, run.doc.group ?? '', shownOf(looks));
  const all = looks.map(({ attempt }) => {
    const review = reviews.get(attempt.runId);
    return { ...attempt, ...(review && { review }) };
  });
  return all.sort((one, other) => compare(weigh(one), weigh(other)));
}

/** The changes that are still there to be chosen. */
export async function showAttempts(deps: AttemptsDeps, run: StoredRun): Promise<Shown[]> {
  return shownOf(await Promise.all(attemptsOf(deps.store, run).map((each) => look(deps, each))));
}

interface Look {
  attempt: Attempt;
  change: WorktreeDiff | undefined;
}

function shownOf(looks: readonly Look[]): Shown[] {
  return looks.flatMap(({ attempt: { runId }, change }) =>
    change ? [{ runId, patch: change.patch, tree: change.tree ?? '' }] : [],
  );
}

async function look({ store, status, worktrees }: AttemptsDeps, run: StoredRun): Promise<Look> {
  const { runId, status: stands, merge, path, because, createdAt, endedAt } = await status.summary(run);
  const change = path === null ? undefined : await worktrees.diff(run.worktreeId);
  const seconds = endedAt === undefined ? undefined : (Date.parse(endedAt) - Date.parse(createdAt)) / 1_000;
  const attempt: Attempt = {
    runId,
    agent: run.doc.agent ?? '',
    worktree: run.worktreeId,
    status: stands,
    ...(merge && { merge }),
    ...(because !== undefined && { because }),
    gates: change?.gates ?? [],
    diff: change ? sizeOf(change) : null,
    ...spentOn(store, run),
    ...(seconds !== undefined && { seconds }),
  };
  return { attempt, change };
}

function sizeOf({ files, patch }: WorktreeDiff): NonNullable<Attempt['diff']> {
  const lines = patch.split('\n');
  const count = (mark: string) =>
    lines.filter((line) => line.startsWith(mark) && !line.startsWith(mark.repeat(3))).length;
  return { files: files.length, added: count('+'), removed: count('-') };
}

/** By all runs in its worktree. */
function spentOn(store: Store, { id, worktreeId }: StoredRun): Pick<Attempt, 'tokens' | 'costUsd'> {
  const runs = worktreeId === '' ? [id] : store.runs.byWorktree(worktreeId).map((run) => run.id);
  const jobs = new Set(runs.flatMap((run) => store.blocks.ofRun(run).map(({ jobId }) => jobId)));
  const usages = [...jobs].flatMap((jobId) => store.jobs.get(jobId)?.job.usage ?? []);
  const priced = usages.flatMap(({ costUsd }) => costUsd ?? []);
  const sum = (numbers: number[]) => numbers.reduce((before, each) => before + each, 0);
  return {
    tokens: sum(usages.map(({ input, output }) => input + output)),
    costUsd: priced.length === 0 ? null : sum(priced),
  };
}

function weigh({ status, gates, review, diff, costUsd, tokens }: Attempt): number[] {
  const failed = gates.filter(
    ({ result, blocks }) => result !== 'passed' && result !== 'not_configured' && blocks !== false,
  );
  const size = diff ? diff.added + diff.removed : Number.POSITIVE_INFINITY;
  return [status === 'success' ? 0 : 1, failed.length, review?.rank ?? 0, size, costUsd ?? 0, tokens];
}

function compare(one: readonly number[], other: readonly number[]): number {
  const at = one.findIndex((value, index) => value !== other[index]);
  return at === -1 ? 0 : (one[at] ?? 0) < (other[at] ?? 0) ? -1 : 1;
}
