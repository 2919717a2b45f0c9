import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { listRefs } from '../../git/refs.ts';
import type { WorktreeEntry } from '../../git/worktree.ts';
import type { ReconcileReport } from '../../protocol/worktrees.ts';
import type { Deps } from '../deps.ts';
import { dropUnknownGateCheckouts } from '../gate-checkouts.ts';
import { dropRefs, emptyTrash } from '../keep/remove.ts';
import { isScratch, passing, refs } from '../layout.ts';
import { type StoredWorktree, without } from '../records.ts';
import { listRegistered } from '../registry.ts';
import { mendEntries, recover } from './recover.ts';

/**
 * Finishes what was interrupted, then reports what there is. It looks at everything before it writes anything, so a
 * failing look changes nothing. It removes nothing whose removal was not begun before.
 */
export async function reconcile(deps: Deps): Promise<ReconcileReport> {
  await mendEntries(deps);
  const { registered } = await look(deps);
  await dropUnknownGateCheckouts(deps, registered);
  const recovered: string[] = [];
  for (const { id } of deps.records.open()) {
    const key = `worktree ${id}`;
    if (deps.locks.isBusy(key)) continue;
    const said = await deps.locks.run(key, () => recover(deps, id));
    if (said !== undefined) recovered.push(said);
  }
  const classes = classify(await look(deps));
  for (const id of classes.ghosts) if (markLost(deps, id)) await rescue(deps, id);
  await emptyTrash(deps);
  const open = new Set(deps.records.open().map(({ id }) => id));
  const ended = deps.records.all().filter(({ id }) => !open.has(id));
  await dropRefs(
    deps,
    ended.flatMap(({ id }) => passing(id)),
  );
  deps.released();
  return { ...classes, recovered };
}

/** The part of `Deps` that looking needs; `reef doctor` has no more. */
export interface Sight extends Pick<Deps, 'git' | 'checkout' | 'clock' | 'locks'> {
  records: Pick<Deps['records'], 'all'>;
  layout: Pick<Deps['layout'], 'folder'>;
}

export async function look(deps: Sight): Promise<Seen> {
  const { git, checkout, records, layout } = deps;
  const registered = await listRegistered(deps);
  const names = await readdir(layout.folder, { withFileTypes: true });
  const inside = names.filter((entry) => entry.isDirectory() && entry.name !== '.trash' && !isScratch(entry.name));
  const held = await listRefs(git, checkout, 'refs/reef/held');
  const kept = new Set(held.map(({ ref }) => ref));
  const all = records.all();
  return {
    records: all,
    registered: registered.filter(({ path }) => path !== checkout.toplevel),
    folders: new Set(inside.map(({ name }) => join(layout.folder, name))),
    home: layout.folder,
    kept: new Set(all.filter(({ id }) => kept.has(refs.held(id))).map(({ id }) => id)),
  };
}

/** Branch and refs stay, so the worktree can be made again. */
function markLost(deps: Deps, id: string): boolean {
  if (deps.locks.isBusy(`worktree ${id}`)) return false;
  const { path, title } = deps.records.get(id);
  if (path !== null && existsSync(path)) return false; // made after the folders were listed
  deps.records.change(id, (now) => ({ ...without(now, 'intent', 'pending'), status: 'lost', path: null }));
  deps.ports.release(id);
  const where = path === null ? 'the ref that held it' : path;
  deps.announce({ kind: 'lost', worktreeId: id, message: `${title}: ${where} is gone.` });
  return true;
}

/** What its agent committed and nobody brought over is not lost with the folder. */
async function rescue({ copies, checkout, log }: Deps, id: string): Promise<void> {
  await copies
    .rescue(checkout, id)
    .catch((error: unknown) => log.warn('what an agent committed could not be brought over', { worktree: id, error }));
}

export interface Seen {
  records: readonly StoredWorktree[];
  registered: readonly WorktreeEntry[];
  folders: ReadonlySet<string>;
  home: string;
  kept: ReadonlySet<string>;
}

type Classes = Omit<ReconcileReport, 'recovered'>;

const ACTIVE = new Set(['creating', 'running', 'accepting']);

/** Compares records, registrations, folders and refs. Pure. */
export function classify(seen: Seen): Classes {
  const classes: Classes = { live: [], held: [], zombies: [], ghosts: [], foreign: [] };
  const paths = new Set(seen.registered.filter(({ isBare }) => !isBare).map(({ path }) => path));
  for (const row of seen.records) classifyRecord(seen, { row, paths, classes });
  const active = new Set(seen.records.filter(({ status }) => ACTIVE.has(status)).map(({ path }) => path));
  for (const path of [...new Set([...seen.folders, ...paths])].sort()) {
    if (active.has(path)) continue;
    const worktreeId = leftBy(seen.records, path);
    if (!path.startsWith(`${seen.home}/`)) classes.foreign.push(path);
    else if (seen.folders.has(path)) classes.zombies.push({ path, worktreeId, why: 'no record uses it' });
  }
  return classes;
}

function classifyRecord(
  { folders, kept }: Seen,
  { row, paths, classes }: { row: StoredWorktree; paths: ReadonlySet<string>; classes: Classes },
): void {
  const { id, path, status } = row;
  if (status === 'held') classes[kept.has(id) ? 'held' : 'ghosts'].push(id);
  if (!ACTIVE.has(status) || path === null) return;
  // A worktree in the making has no folder yet.
  if (status === 'creating' || (folders.has(path) && paths.has(path))) classes.live.push(id);
  else if (!folders.has(path)) classes.ghosts.push(id);
  else classes.zombies.push({ path, worktreeId: id, why: 'git no longer knows it' });
}

function leftBy(records: readonly StoredWorktree[], path: string): string | null {
  return records.find((row) => row.leftover?.path === path || path.endsWith(`/${row.id}`))?.id ?? null;
}
