import { listRefs, setRef } from '../../git/refs.ts';
import { toReefError } from '../../protocol/errors.ts';
import { passing, refs } from '../layout.ts';
import { exists } from '../make/checkout.ts';
import { runTeardown } from '../make/scripts.ts';
import { openWorktree } from '../open-worktree.ts';
import type { Parts } from '../parts.ts';
import type { Intent, StoredWorktree } from '../record.ts';
import { without } from '../records.ts';
import { forgetEntry } from '../registry.ts';
import { stampOf } from '../stamp.ts';
import { processesInside } from './processes-inside.ts';
import { emptyTrash, moveToTrash } from './trash.ts';

/**
 * Does what a record's intent to remove says, from wherever it was left. The folder goes only in the state that was kept:
 * what came after that is somebody's work, stays where it is and shows as a zombie (T-33).
 */
export async function finishRemoval(parts: Parts, id: string): Promise<StoredWorktree> {
  const row = parts.records.get(id);
  if (row.intent?.kind !== 'remove') return row;
  await parts.jobs.vacate?.(row.intent.path);
  const why = (await exists(row.intent.path)) ? await whyKeep(parts, row.intent) : undefined;
  if (why !== undefined) return leaveIt(parts, row.intent, { id, why });
  if (await exists(row.intent.path)) {
    await runTeardown(parts, { ...row, path: row.intent.path });
    await moveToTrash(parts, row.intent.path);
  }
  await parts.at('remove.moved');
  await forget(parts, row.intent);
  await parts.at('remove.forgotten');
  await emptyTrash(parts);
  await letGo(parts, row);
  await parts.at('remove.deleted');
  return parts.records.change(id, (now) => ({ ...without(now, 'intent', 'leftover'), path: null }));
}

type Removing = Extract<Intent, { kind: 'remove' }>;

async function whyKeep(parts: Parts, { path, stamp }: Removing): Promise<string | undefined> {
  const pids = await processesInside(path);
  if (pids.length > 0) return `processes work in it: ${pids.join(', ')}`;
  try {
    const now = await stampOf(parts.git, await openWorktree(parts, path));
    return now === stamp ? undefined : 'it has changed since it was kept';
  } catch (error) {
    return `it cannot be read: ${toReefError(error).message}`;
  }
}

/** Its work goes on where it was not merged: what was put on the ref is no longer all of it. */
function leaveIt(parts: Parts, { path }: Removing, { id, why }: { id: string; why: string }): StoredWorktree {
  parts.announce({ kind: 'left_over', worktreeId: id, message: `${path} is left: ${why}.` });
  return parts.records.change(id, (now) => {
    const rest = without(now, 'intent');
    if (now.status === 'accepted') return { ...rest, path: null, leftover: { path, why } } as StoredWorktree;
    return { ...without(now, 'intent', 'keptOn', 'endedAt'), status: 'running', path };
  });
}

/** The registration of this folder and no other's; then the branch, if it is where it was. */
async function forget(parts: Parts, { path, branch }: Removing): Promise<void> {
  const { git, place } = parts;
  await forgetEntry(parts, path);
  if (branch !== undefined) await setRef(git, place, { ref: refs.branch(branch.name), to: null, from: branch.at });
}

/** A held worktree comes back, so it keeps its ref and its ports. */
async function letGo(parts: Parts, { id, status }: StoredWorktree): Promise<void> {
  const others = status === 'held' ? [] : [refs.accepted(id), refs.held(id)];
  await dropRefs(parts, [...passing(id), ...others]);
  if (status !== 'held') parts.ports.release(id);
}

/** Those that exist, each only from where it was seen. */
export async function dropRefs({ git, place }: Parts, wanted: readonly string[]): Promise<void> {
  const names = new Set(wanted);
  const known = await listRefs(git, place, 'refs/reef');
  for (const { ref, oid } of known.filter((each) => names.has(each.ref))) {
    await setRef(git, place, { ref, to: null, from: oid });
  }
}
