import { capText } from '../base/cap.ts';
import { capture } from '../git/capture.ts';
import type { Checkout } from '../git/checkout.ts';
import { diffTrees } from '../git/diff.ts';
import type { Oid } from '../git/ref-name.ts';
import { ReefError } from '../protocol/errors.ts';
import type { WorktreeDiff } from '../protocol/worktrees.ts';
import type { Deps } from './deps.ts';
import { refs } from './layout.ts';
import { currentTip } from './make/checks.ts';
import { mergeBase } from './merge/merge-base.ts';
import { folderOf, openWorktree } from './open-worktree.ts';
import { driftOf } from './plan/drift.ts';
import { namesOf } from './radar/compare.ts';
import type { StoredWorktree } from './record.ts';

const SHOWN = 1024 * 1024;
const READ = 64 * 1024 * 1024;
const PLAIN = ['--no-ext-diff', '--no-textconv', '--no-color', '--find-renames', '--submodule=short', '--no-abbrev'];

/** What a worktree would bring: its own changes since it left its target, uncommitted ones included. */
export async function worktreeDiff(deps: Deps, row: StoredWorktree): Promise<WorktreeDiff> {
  const { git, checkout, clock, fold } = deps;
  const worktree = await openWorktree(deps, folderOf(row));
  const message = `Reef saw ${row.title}`;
  const { parent, tree } = await capture(git, worktree, { ref: refs.work(row.id), message, at: clock.now() });
  const tip = await currentTip(git, checkout, row.base);
  const base = (await mergeBase(git, worktree, [parent, tip])) ?? row.base.commit;
  const changes = await diffTrees(git, worktree, { from: base, to: tree });
  const files = changes.map(({ status, path, from }) => ({ status, path, ...(from !== undefined && { from }) }));
  const drift = driftOf(row.changePlan, changes.flatMap(namesOf), fold);
  return { base, files, ...(await patchOf(deps, worktree, [base, tree])), drift };
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
