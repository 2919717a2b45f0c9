import { listRefs, setRef } from '../../git/refs.ts';
import { toReefError } from '../../protocol/errors.ts';
import type { Deps } from '../deps.ts';
import { exists, passing, refs } from '../layout.ts';
import { openWorktree } from '../open-worktree.ts';
import type { Intent, StoredWorktree } from '../record.ts';
import { without } from '../records.ts';
import { forgetEntry } from '../registry.ts';
import { runTeardown } from '../scripts.ts';
import { stampOf } from '../stamp.ts';
import { processesInside } from './processes-inside.ts';
import { emptyTrash, moveToTrash } from './trash.ts';

/**
 * Does what a record's intent to remove says, from wherever it was left. The folder goes only in the state that was kept:
 * what came after that is somebody's work, stays where it is and shows as a zombie.
 */
export async function finishRemoval(deps: Deps, id: string): Promise<StoredWorktree> {
  const row = deps.records.get(id);
  if (row.intent?.kind !== 'remove') return row;
  await deps.vacate(row.intent.path);
  const why = (await exists(row.intent.path)) ? await whyKeep(deps, row.intent) : undefined;
  if (why !== undefined) return leaveIt(deps, row.intent, { id, why });
  if (await exists(row.intent.path)) {
    await runTeardown(deps, { ...row, path: row.intent.path });
    await moveToTrash(deps, row.intent.path);
  }
  await deps.at('remove.moved');
  await forget(deps, row.intent);
  await deps.at('remove.forgotten');
  await emptyTrash(deps);
  await letGo(deps, row);
  await deps.at('remove.deleted');
  return deps.records.change(id, (now) => ({ ...without(now, 'intent', 'leftover'), path: null }));
}

type Removing = Extract<Intent, { kind: 'remove' }>;

async function whyKeep(deps: Deps, { path, stamp }: Removing): Promise<string | undefined> {
  const pids = await processesInside(path);
  if (pids.length > 0) return `processes work in it: ${pids.join(', ')}`;
  try {
    const now = await stampOf(deps.git, await openWorktree(deps, path));
    return now === stamp ? undefined : 'it has changed since it was kept';
  } catch (error) {
    return `it cannot be read: ${toReefError(error).message}`;
  }
}

/** Its work goes on where it was not merged: what was put on the ref is no longer all of it. */
function leaveIt(deps: Deps, { path }: Removing, { id, why }: { id: string; why: string }): StoredWorktree {
  deps.announce({ kind: 'left_over', worktreeId: id, message: `${path} is left: ${why}.` });
  return deps.records.change(id, (now) => {
    const rest = without(now, 'intent');
    if (now.status === 'accepted') return { ...rest, path: null, leftover: { path, why } } as StoredWorktree;
    return { ...without(now, 'intent', 'keptOn', 'endedAt'), status: 'running', path };
  });
}

/** The registration of this folder and no other's; then the branch, if it is where it was. */
async function forget(deps: Deps, { path, branch }: Removing): Promise<void> {
  const { git, checkout } = deps;
  await forgetEntry(deps, path);
  if (branch !== undefined) await setRef(git, checkout, { ref: refs.branch(branch.name), to: null, from: branch.at });
}

/** A held worktree comes back, so it keeps its ref and its ports. */
async function letGo(deps: Deps, { id, status }: StoredWorktree): Promise<void> {
  const others = status === 'held' ? [] : [refs.accepted(id), refs.held(id)];
  await dropRefs(deps, [...passing(id), ...others]);
  if (status !== 'held') deps.ports.release(id);
}

/** Those that exist, each only from where it was seen. */
export async function dropRefs({ git, checkout }: Deps, wanted: readonly string[]): Promise<void> {
  const names = new Set(wanted);
  const known = await listRefs(git, checkout, 'refs/reef');
  for (const { ref, oid } of known.filter((each) => names.has(each.ref))) {
    await setRef(git, checkout, { ref, to: null, from: oid });
  }
}
