import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readlink, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { systemClock } from '../../base/clock.ts';
import { listRefs, setRef } from '../../git/refs.ts';
import { argumentsOf, type ProcessRow, processRows } from '../../process/process-table.ts';
import { ReefError, toReefError } from '../../protocol/errors.ts';
import type { Deps } from '../deps.ts';
import { dropGateCheckout, withGateLock } from '../gate-checkouts.ts';
import { exists, passing, refs } from '../layout.ts';
import { type Intent, type StoredWorktree, without } from '../records.ts';
import { forgetEntry, openWorktree } from '../registry.ts';
import { runTeardown } from '../scripts.ts';
import { stampOf } from '../stamp.ts';

/**
 * Carries out a record's intent to remove, from wherever it stopped. The folder goes only in the state that was kept: a
 * later change is somebody's work, so the folder stays and is reported as a zombie.
 */
export async function finishRemoval(deps: Deps, id: string): Promise<StoredWorktree> {
  const row = deps.records.get(id);
  if (row.intent?.kind !== 'remove') return row;
  await deps.vacate(row.intent.path);
  const why = (await exists(row.intent.path)) ? await whyKeep(deps, row.intent) : undefined;
  if (why !== undefined) return leaveIt(deps, row.intent, { id, why });
  await withGateLock(deps, id, () => dropGateCheckout(deps, row));
  if (await exists(row.intent.path)) {
    await runTeardown(deps, { ...row, path: row.intent.path });
    await moveToTrash(deps, row.intent.path);
  }
  await deps.at('remove.moved');
  await forget(deps, row.intent);
  await deps.copies.drop(deps.checkout, id);
  await deps.at('remove.forgotten');
  await emptyTrash(deps);
  await letGo(deps, row);
  await deps.at('remove.deleted');
  return deps.records.change(id, (now) => ({ ...without(now, 'intent', 'leftover'), path: null }));
}

type Removing = Extract<Intent, { kind: 'remove' }>;

/** What speaks against removing it now; undefined if nothing does. */
export async function whyKeep(deps: Deps, { path, stamp }: Removing): Promise<string | undefined> {
  const pids = await processesInside(path);
  if (pids.length > 0) return `processes work in it: ${pids.join(', ')}`;
  try {
    const now = await stampOf(deps.git, await openWorktree(deps, path));
    return now === stamp ? undefined : 'it has changed since it was kept';
  } catch (error) {
    return `it cannot be read: ${toReefError(error).message}`;
  }
}

/** If it was not merged, its work goes on: the ref no longer holds all of it. */
function leaveIt(deps: Deps, removing: Removing, { id, why }: { id: string; why: string }): StoredWorktree {
  const { path } = removing;
  deps.announce({ kind: 'left_over', worktreeId: id, message: `${path} is left: ${why}.` });
  return deps.records.change(id, (now) => {
    const rest = without(now, 'intent');
    if (now.status === 'accepted') return { ...rest, path: null, leftover: { path, why, removing } } as StoredWorktree;
    return { ...without(now, 'intent', 'keptOn', 'endedAt'), status: 'running', path };
  });
}

/** A merged worktree stays while a process stands in it, or after a change: it goes as soon as nothing speaks against it. */
export async function retryRemoval(deps: Deps, { id, leftover }: StoredWorktree): Promise<void> {
  const { removing } = leftover ?? {};
  if (!removing || (await whyKeep(deps, removing)) !== undefined) return;
  deps.records.change(id, (now) => ({ ...now, path: removing.path, intent: removing }));
  await finishRemoval(deps, id);
}

/** Removes the registration of this folder only, then the branch if it has not moved. */
async function forget(deps: Deps, { path, branch }: Removing): Promise<void> {
  const { git, checkout } = deps;
  await forgetEntry(deps, path);
  if (branch !== undefined) await setRef(git, checkout, { ref: refs.branch(branch.name), to: null, from: branch.at });
}

/** A held worktree comes back, so it keeps its ref and its ports. */
async function letGo(deps: Deps, { id, status }: StoredWorktree): Promise<void> {
  const others = status === 'held' ? [] : [refs.accepted(id), refs.held(id), refs.pushed(id)];
  await dropRefs(deps, [...passing(id), ...others]);
  if (status !== 'held') deps.ports.release(id);
}

/** Removes those that exist, each only if it has not moved since. */
export async function dropRefs({ git, checkout }: Deps, wanted: readonly string[]): Promise<void> {
  const names = new Set(wanted);
  const known = await listRefs(git, checkout, 'refs/reef');
  for (const { ref, oid } of known.filter((each) => names.has(each.ref))) {
    await setRef(git, checkout, { ref, to: null, from: oid });
  }
}

/** One rename: a kill while deleting never leaves half a worktree that looks like somebody's work. */
export async function moveToTrash({ layout }: Deps, path: string): Promise<void> {
  const trash = layout.trashOf(randomUUID());
  await mkdir(dirname(trash), { recursive: true, mode: 0o700 });
  await rename(path, trash);
}

/** Everything in the trash is kept elsewhere or is nobody's. What cannot be deleted waits for the next time. */
export async function emptyTrash({ layout, log }: Deps): Promise<void> {
  const folder = dirname(layout.trashOf('x'));
  for (const name of await readdir(folder).catch(() => [])) {
    const path = join(folder, name);
    await rm(path, { recursive: true, force: true, maxRetries: 3 }).catch((error: unknown) =>
      log.warn('a removed worktree could not be deleted', { path, error }),
    );
  }
}

const LOOKS = 4;
const PAUSE_MS = 50;

/**
 * Processes whose working folder is inside, except our own gits; none on macOS, where they cannot be seen. A process
 * counts only if it stays: a git of ours that starts or ends cannot be told from a stranger.
 */
export async function processesInside(folder: string): Promise<number[]> {
  if (process.platform !== 'linux') return [];
  let inside = await seenInside(folder);
  for (let looks = 1; looks < LOOKS && inside.length > 0; looks++) {
    await systemClock.sleep(PAUSE_MS);
    const now = new Set(await seenInside(folder));
    inside = inside.filter((pid) => now.has(pid));
  }
  return inside;
}

async function seenInside(folder: string): Promise<number[]> {
  const rows = processRows();
  const ours = ownGits(rows);
  const inside: number[] = [];
  for (const { pid, isAlive } of rows) {
    if (!isAlive || ours.has(pid)) continue;
    const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => '');
    if (cwd === folder || cwd.startsWith(`${folder}/`)) inside.push(pid);
  }
  return inside;
}

/** This process, the gits it started, and their children: a status may be asked for at any time. */
function ownGits(rows: readonly ProcessRow[]): Set<number> {
  const isGit = ({ pid }: ProcessRow) => /(^|\/)git$/.test(argumentsOf(pid)[0] ?? '');
  const ours = new Set(rows.filter((row) => row.parent === process.pid && isGit(row)).map(({ pid }) => pid));
  for (let size = -1; size !== ours.size; ) {
    size = ours.size;
    for (const { pid, parent } of rows) if (ours.has(parent)) ours.add(pid);
  }
  return ours.add(process.pid);
}

/** Never pulls the folder away from under a shell or an editor of the user's. */
export async function refuseOccupied(folder: string): Promise<void> {
  const pids = await processesInside(folder);
  if (pids.length === 0) return;
  throw new ReefError('worktree_in_use', `Processes work in ${folder}: ${pids.join(', ')}.`, { details: { pids } });
}
