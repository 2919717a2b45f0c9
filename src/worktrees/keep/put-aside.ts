import type { Place } from '../../git/place.ts';
import { listIgnored } from '../../git/tree.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { KeptWork } from '../../protocol/worktrees.ts';
import { refs } from '../layout.ts';
import { folderOf, openWorktree } from '../open-worktree.ts';
import type { Parts } from '../parts.ts';
import type { StoredWorktree } from '../record.ts';
import { without } from '../records.ts';
import { stampOf } from '../stamp.ts';
import { bestOf } from './bring-back.ts';
import { findKept, type Kept, keep, putOnRef } from './kept.ts';
import { refuseOccupied } from './processes-inside.ts';
import { finishRemoval } from './remove.ts';

const MOST_IGNORED = 1_000;
const MOST_TRIES = 3;

/** Keeps the work of a worktree on a ref first, then removes it with its branch (T-34). */
export async function discard(parts: Parts, id: string): Promise<KeptWork> {
  const row = parts.records.get(id);
  if (row.status === 'discarded' && row.keptOn !== undefined) return answer(row, []);
  if (row.status === 'queued') return dropQueued(parts, id);
  await parts.jobs.end(id);
  if (row.status === 'held' || row.status === 'lost') return discardKept(parts, row);
  const { kept, stamp, ignored, path } = await keepStill(parts, begin(parts, id, ['running', 'accepting']), {
    ref: refs.discarded(id),
    withSession: false,
  });
  const branch = { name: row.branch, at: kept.head };
  const done = parts.records.move(id, ['running', 'accepting'], (now) => ({
    ...without(now, 'pending'),
    status: 'discarded',
    endedAt: parts.clock.now().toISOString(),
    keptOn: refs.discarded(id),
    intent: { kind: 'remove', by: parts.self, path, stamp, branch },
  }));
  await parts.at('remove.begun');
  refuseLeft(await finishRemoval(parts, id));
  parts.released();
  return answer(done, ignored);
}

/** Of a worktree without a folder: what is kept of it is kept as discarded from now on. */
async function discardKept(parts: Parts, row: StoredWorktree): Promise<KeptWork> {
  const { id } = row;
  const [from, ref] = [await bestOf(parts, id), refs.discarded(id)];
  const kept = from === undefined ? undefined : await findKept(parts, from);
  if (kept) await putOnRef(parts, row, { ref, tree: kept.tree, parents: { head: kept.head, ...kept.more } });
  const branch = kept && { name: row.branch, at: kept.head };
  const path = parts.layout.pathOf(id);
  const done = parts.records.move(id, ['held', 'lost'], (now) => ({
    ...without(now, 'keptOn', 'failure'),
    status: 'discarded',
    endedAt: parts.clock.now().toISOString(),
    intent: { kind: 'remove', by: parts.self, path, stamp: '', ...(branch && { branch }) },
    ...(kept && { keptOn: ref }),
  }));
  await parts.at('remove.begun');
  await finishRemoval(parts, id);
  parts.released();
  return answer(done, []);
}

/** Puts work, staging and session aside and removes the folder; the branch stays as the agent left it (T-35). */
export async function hold(parts: Parts, id: string): Promise<KeptWork> {
  const row = parts.records.get(id);
  if (row.status === 'held' && row.keptOn !== undefined) return answer(row, []);
  if (await parts.jobs.isBusy(id)) throw new ReefError('worktree_busy', `A job is at work in the worktree ${id}.`);
  const { stamp, ignored, path } = await keepStill(parts, begin(parts, id, ['running']), {
    ref: refs.held(id),
    withSession: true,
  });
  const done = parts.records.move(id, ['running'], (now) => ({
    ...now,
    status: 'held',
    keptOn: refs.held(id),
    intent: { kind: 'remove', by: parts.self, path, stamp },
  }));
  await parts.at('remove.begun');
  refuseLeft(await finishRemoval(parts, id));
  return answer(done, ignored);
}

function refuseLeft({ id, status }: StoredWorktree): void {
  if (status === 'running') throw new ReefError('worktree_busy', `The worktree ${id} changed while it was put aside.`);
}

function begin(parts: Parts, id: string, from: readonly StoredWorktree['status'][]): StoredWorktree {
  return parts.records.move(id, from, (now) => ({ ...now, intent: { kind: 'keep', by: parts.self } }));
}

/** Nothing was ever made of it, so there is nothing to keep. */
async function dropQueued(parts: Parts, id: string): Promise<KeptWork> {
  const endedAt = parts.clock.now().toISOString();
  parts.records.move(id, ['queued'], (now) => ({ ...now, status: 'discarded', endedAt }));
  await parts.jobs.end(id);
  return { ref: '', command: '', ignored: [] };
}

interface Still {
  kept: Kept;
  /** Of the very state that was kept. */
  stamp: string;
  ignored: string[];
  path: string;
}

/** Keeps a state that did not change while it was being kept; if somebody goes on writing, nothing is removed. */
async function keepStill(
  parts: Parts,
  row: StoredWorktree,
  { ref, withSession }: { ref: string; withSession: boolean },
): Promise<Still> {
  try {
    await parts.at('keep.begun');
    const path = folderOf(row);
    await parts.jobs.vacate?.(path);
    await refuseOccupied(path);
    const worktree = await openWorktree(parts, path);
    const session = withSession ? await parts.sessionOf(row.id) : undefined;
    for (let left = MOST_TRIES; left > 0; left--) {
      const stamp = await stampOf(parts.git, worktree);
      const kept = await keep(parts, { row, worktree, ref, ...(session !== undefined && { session }) });
      await parts.at('keep.kept');
      if (stamp !== (await stampOf(parts.git, worktree))) continue;
      return { kept, stamp, path, ignored: await ignoredIn(parts, worktree) };
    }
    throw new ReefError('worktree_busy', `Somebody keeps changing files in ${path}.`);
  } catch (error) {
    parts.records.change(row.id, (now) => without(now, 'intent') as StoredWorktree);
    throw error;
  }
}

async function ignoredIn({ git }: Parts, worktree: Place): Promise<string[]> {
  const ignored: string[] = [];
  for await (const path of listIgnored(git, worktree)) if (ignored.push(path) >= MOST_IGNORED) break;
  return ignored;
}

function answer(row: StoredWorktree, ignored: string[]): KeptWork {
  const ref = row.keptOn ?? '';
  return { ref, command: ref && `reef worktree restore ${ref}`, ignored };
}
