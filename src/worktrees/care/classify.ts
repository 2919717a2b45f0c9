import type { WorktreeEntry } from '../../git/worktree.ts';
import type { ReconcileReport } from '../../protocol/worktrees.ts';
import type { StoredWorktree } from '../record.ts';

export interface Seen {
  records: readonly StoredWorktree[];
  registered: readonly WorktreeEntry[];
  /** Folders where worktrees of ours lie. */
  folders: ReadonlySet<string>;
  /** The folder around them. */
  home: string;
  /** Records whose kept work is on its ref. */
  kept: ReadonlySet<string>;
}

type Classes = Omit<ReconcileReport, 'recovered'>;

const ACTIVE = new Set(['creating', 'running', 'accepting']);

/** Records, registrations, disk and refs held against each other. Pure: it decides nothing and touches nothing. */
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
  // One that is still being made has its folder in a moment.
  if (status === 'creating' || (folders.has(path) && paths.has(path))) classes.live.push(id);
  else if (!folders.has(path)) classes.ghosts.push(id);
  else classes.zombies.push({ path, worktreeId: id, why: 'git no longer knows it' });
}

function leftBy(records: readonly StoredWorktree[], path: string): string | null {
  return records.find((row) => row.leftover?.path === path || path.endsWith(`/${row.id}`))?.id ?? null;
}
