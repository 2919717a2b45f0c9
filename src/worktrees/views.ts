import { capText } from '../base/cap.ts';
import { readBlobs } from '../git/blobs.ts';
import { capture } from '../git/capture.ts';
import type { Checkout } from '../git/checkout.ts';
import { diffTrees, type FileChange } from '../git/diff.ts';
import type { Oid } from '../git/ref-name.ts';
import { operationUnderWay } from '../git/repository.ts';
import { readStatus } from '../git/status.ts';
import { ReefError } from '../protocol/errors.ts';
import type { GateStanding, WorktreeDiff, WorktreeView } from '../protocol/worktrees.ts';
import type { Deps } from './deps.ts';
import { refs } from './layout.ts';
import { currentTip } from './make/checks.ts';
import { openBench, standings } from './merge/gates.ts';
import { mergeBase } from './merge/merge-commit.ts';
import { driftOf } from './plan.ts';
import { type QueueSettings, queuePlaces } from './queue.ts';
import { namesOf } from './radar/compare.ts';
import type { Picture } from './radar/radar.ts';
import { type StoredWorktree, toRecord, without } from './records.ts';
import { folderOf, openWorktree } from './registry.ts';

export interface Seen {
  settings: QueueSettings;
  /** The last look of the radar. */
  picture: Picture | undefined;
}

export async function viewsOf(
  deps: Deps,
  rows: readonly StoredWorktree[],
  { settings, picture }: Seen,
): Promise<WorktreeView[]> {
  const places = queuePlaces(deps, settings);
  const samples = new Map(picture?.subjects.map(({ row, sample }) => [row.id, sample]));
  const atWork = deps.records.atWork();
  const toView = async (row: StoredWorktree): Promise<WorktreeView> => {
    const sample = samples.get(row.id);
    const { title, pending, failure, keptOn, createdAt, setup, pr } = row;
    return {
      ...toRecord(row),
      title,
      createdAt,
      ...(atWork.has(row.id) && { atWork: true as const }),
      health: await healthOf(deps, row),
      overlap: [...(picture?.clashes.get(row.id) ?? [])],
      queue: places.get(row.id) ?? null,
      drift: sample ? driftOf(row.changePlan, sample.changes.flatMap(namesOf), deps.fold) : null,
      seen: sample ? { files: sample.changes.length, tree: sample.tree } : null,
      gates: lastVerdicts(deps, row.id),
      setup,
      ...(pending && { pending: without(pending, 'options') }),
      ...(pr && { pr: without(pr, 'host', 'path') }),
      ...(failure && { failure }),
      ...(keptOn !== undefined && { ref: keptOn }),
    };
  };
  return Promise.all(rows.map(toView));
}

function lastVerdicts({ store }: Deps, id: string): GateStanding[] {
  const [run] = store.runs.byWorktree(id);
  const newest = new Map(store.verdicts.ofRun(run?.id ?? id).map((each) => [each.gate, each]));
  return [...newest.values()].map(({ gate, result, tree }) => ({ gate, result, ...(tree !== undefined && { tree }) }));
}

/** GREEN: clean. AMBER: uncommitted changes or an operation under way. RED: git cannot read it. */
async function healthOf(deps: Deps, { path }: StoredWorktree): Promise<WorktreeView['health']> {
  if (path === null) return null;
  try {
    const worktree = await openWorktree(deps, path);
    const isClean = (await readStatus(deps.git, worktree)).length === 0 && !(await operationUnderWay(worktree));
    return isClean ? 'GREEN' : 'AMBER';
  } catch (error) {
    if (error instanceof ReefError) return error.code === 'repo_busy' ? 'AMBER' : 'RED';
    throw error;
  }
}

const SHOWN = 1024 * 1024;
const READ = 64 * 1024 * 1024;
const PLAIN = ['--no-ext-diff', '--no-textconv', '--no-color', '--find-renames', '--submodule=short', '--full-index'];

/** Its changes since it left its target, uncommitted ones included. */
export async function worktreeDiff(deps: Deps, row: StoredWorktree): Promise<WorktreeDiff> {
  const { worktree, base, tree, changes } = await changesOf(deps, row);
  const files = changes.map(({ status, path, from }) => ({ status, path, ...(from !== undefined && { from }) }));
  const drift = driftOf(row.changePlan, changes.flatMap(namesOf), deps.fold);
  const gates = await standingsOf(deps, row, tree);
  return { base, tree, ...(gates && { gates }), files, ...(await patchOf(deps, worktree, [base, tree])), drift };
}

/** The same changes by the ids of the files, and the text of one of them. */
export async function openChanges(deps: Deps, row: StoredWorktree): Promise<OpenChanges> {
  const { worktree, base, changes } = await changesOf(deps, row);
  return {
    base,
    changes,
    async textOf(oid) {
      for await (const blob of readBlobs(deps.git, worktree, { oids: [oid] }))
        if (blob.state === 'read') return blob.content.toString('utf8');
      return undefined;
    },
  };
}

export interface OpenChanges {
  base: string;
  changes: readonly FileChange[];
  /** Undefined if it is too large to be shown. */
  textOf(oid: Oid): Promise<string | undefined>;
}

async function changesOf(deps: Deps, row: StoredWorktree) {
  const { git, checkout, clock } = deps;
  const worktree = await openWorktree(deps, folderOf(row));
  const message = `Reef saw ${row.title}`;
  const { parent, tree } = await capture(git, worktree, { ref: refs.work(row.id), message, at: clock.now() });
  const tip = await currentTip(git, checkout, row.base);
  const base = (await mergeBase(git, worktree, [parent, tip])) ?? row.base.commit;
  return { worktree, base, tree, changes: await diffTrees(git, worktree, { from: base, to: tree }) };
}

/** Undefined where no gate may run. */
async function standingsOf(deps: Deps, row: StoredWorktree, tree: Oid): Promise<GateStanding[] | undefined> {
  try {
    return standings(deps, await openBench(deps, row), tree);
  } catch (error) {
    if (error instanceof ReefError && error.code === 'repo_untrusted') return undefined;
    throw error;
  }
}

async function patchOf({ git }: Deps, worktree: Checkout, [from, to]: readonly [Oid, Oid]) {
  const args = ['diff-tree', '-r', '--patch', ...PLAIN, '--end-of-options', from, to];
  try {
    const { stdout } = await git.call(worktree, args, { maxBytes: READ });
    const patch = stdout.toString('utf8');
    return { patch: capText(patch, SHOWN), truncated: stdout.length > SHOWN };
  } catch (error) {
    if (error instanceof ReefError && error.code === 'git_failed') return { patch: '', truncated: true };
    throw error;
  }
}
