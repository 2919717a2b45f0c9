import { readlink } from 'node:fs/promises';
import { systemClock } from '../../base/clock.ts';
import { argumentsOf, type ProcessRow, processRows } from '../../process/process-table.ts';
import { ReefError } from '../../protocol/errors.ts';

const LOOKS = 4;
const PAUSE_MS = 50;

/**
 * Living processes whose working folder is inside, other than git at our own command. On macOS nobody can be seen. Only
 * who stays counts: a git of ours that has not become git yet, or is about to end, cannot be told from a stranger.
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

/** Ourselves, the gits we have started, and theirs: somebody may ask for the status of a worktree at any time. */
function ownGits(rows: readonly ProcessRow[]): Set<number> {
  const isGit = ({ pid }: ProcessRow) => /(^|\/)git$/.test(argumentsOf(pid)[0] ?? '');
  const ours = new Set(rows.filter((row) => row.parent === process.pid && isGit(row)).map(({ pid }) => pid));
  for (let size = -1; size !== ours.size; ) {
    size = ours.size;
    for (const { pid, parent } of rows) if (ours.has(parent)) ours.add(pid);
  }
  return ours.add(process.pid);
}

/** A shell or an editor of the user's may be in there: its folder is not pulled away from under it. */
export async function refuseOccupied(folder: string): Promise<void> {
  const pids = await processesInside(folder);
  if (pids.length === 0) return;
  throw new ReefError('worktree_in_use', `Processes work in ${folder}: ${pids.join(', ')}.`, { details: { pids } });
}
