import { capText } from '../base/cap.ts';
import { capture } from '../git/capture.ts';
import { diffTrees } from '../git/diff.ts';
import type { Place } from '../git/place.ts';
import type { Oid } from '../git/ref-name.ts';
import { ReefError } from '../protocol/errors.ts';
import type { WorktreeDiff } from '../protocol/worktrees.ts';
import { refs } from './layout.ts';
import { currentTip } from './make/checks.ts';
import { mergeBase } from './merge/merge-base.ts';
import { folderOf, openWorktree } from './open-worktree.ts';
import type { Parts } from './parts.ts';
import { driftOf } from './plan/drift.ts';
import { namesOf } from './radar/compare.ts';
import type { StoredWorktree } from './record.ts';

const SHOWN = 1024 * 1024;
const READ = 64 * 1024 * 1024;
const PLAIN = ['--no-ext-diff', '--no-textconv', '--no-color', '--find-renames', '--submodule=short', '--no-abbrev'];

/** What a worktree would bring: its own changes since it left its target, uncommitted ones included. */
export async function worktreeDiff(parts: Parts, row: StoredWorktree): Promise<WorktreeDiff> {
  const { git, place, clock, fold } = parts;
  const worktree = await openWorktree(parts, folderOf(row));
  const message = `Reef saw ${row.title}`;
  const { parent, tree } = await capture(git, worktree, { ref: refs.work(row.id), message, at: clock.now() });
  const tip = await currentTip(git, place, row.base);
  const base = (await mergeBase(git, worktree, [parent, tip])) ?? row.base.commit;
  const changes = await diffTrees(git, worktree, { from: base, to: tree });
  const files = changes.map(({ status, path, from }) => ({ status, path, ...(from !== undefined && { from }) }));
  const drift = driftOf(row.changePlan, changes.flatMap(namesOf), fold);
  return { base, files, ...(await patchOf(parts, worktree, [base, tree])), drift };
}

async function patchOf({ git }: Parts, worktree: Place, [from, to]: readonly [Oid, Oid]) {
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
