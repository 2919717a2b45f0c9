import type { Checkout } from '../../git/checkout.ts';
import { listIgnored } from '../../git/tree.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Json } from '../../protocol/workflow.ts';
import type { KeptWork } from '../../protocol/worktrees.ts';
import type { Deps } from '../deps.ts';
import { refs } from '../layout.ts';
import { folderOf, openWorktree } from '../open-worktree.ts';
import type { StoredWorktree } from '../record.ts';
import { without } from '../records.ts';
import { stampOf } from '../stamp.ts';
import { bestOf } from './bring-back.ts';
import { findKept, type Kept, keep, putOnRef } from './kept.ts';
import { refuseOccupied } from './processes-inside.ts';
import { finishRemoval } from './remove.ts';

const MOST_IGNORED = 1_000;
const MOST_TRIES = 3;

/** Keeps the work of a worktree on a ref first, then removes it with its branch. */
export async function discard(deps: Deps, id: string): Promise<KeptWork> {
  const row = deps.records.get(id);
  if (row.status === 'discarded' && row.keptOn !== undefined) return answer(row, []);
  if (row.status === 'queued') return dropQueued(deps, id);
  refuseBusy(deps, id);
  if (row.status === 'held' || row.status === 'lost') return discardKept(deps, row);
  const { kept, stamp, ignored, path } = await keepStill(deps, begin(deps, id, ['running', 'accepting']), {
    ref: refs.discarded(id),
  });
  const branch = { name: row.branch, at: kept.head };
  const done = deps.records.move(id, ['running', 'accepting'], (now) => ({
    ...without(now, 'pending'),
    status: 'discarded',
    endedAt: deps.clock.now().toISOString(),
    keptOn: refs.discarded(id),
    intent: { kind: 'remove', by: deps.self, path, stamp, branch },
  }));
  await deps.at('remove.begun');
  refuseLeft(await finishRemoval(deps, id));
  deps.released();
  return answer(done, ignored);
}

/** Of a worktree without a folder: what is kept of it is kept as discarded from now on. */
async function discardKept(deps: Deps, row: StoredWorktree): Promise<KeptWork> {
  const { id } = row;
  const [from, ref] = [await bestOf(deps, id), refs.discarded(id)];
  const kept = from === undefined ? undefined : await findKept(deps, from);
  if (kept) await putOnRef(deps, row, { ref, tree: kept.tree, parents: { head: kept.head, ...kept.more } });
  const branch = kept && { name: row.branch, at: kept.head };
  const path = deps.layout.pathOf(id);
  const done = deps.records.move(id, ['held', 'lost'], (now) => ({
    ...without(now, 'keptOn', 'failure'),
    status: 'discarded',
    endedAt: deps.clock.now().toISOString(),
    intent: { kind: 'remove', by: deps.self, path, stamp: '', ...(branch && { branch }) },
    ...(kept && { keptOn: ref }),
  }));
  await deps.at('remove.begun');
  await finishRemoval(deps, id);
  deps.released();
  return answer(done, []);
}

/** Puts work, staging and session aside and removes the folder; the branch stays as the agent left it. */
export async function hold(deps: Deps, id: string, session?: Json): Promise<KeptWork> {
  const row = deps.records.get(id);
  if (row.status === 'held' && row.keptOn !== undefined) return answer(row, []);
  refuseBusy(deps, id);
  const { stamp, ignored, path } = await keepStill(deps, begin(deps, id, ['running']), {
    ref: refs.held(id),
    ...(session !== undefined && { session }),
  });
  const done = deps.records.move(id, ['running'], (now) => ({
    ...now,
    status: 'held',
    keptOn: refs.held(id),
    intent: { kind: 'remove', by: deps.self, path, stamp },
  }));
  await deps.at('remove.begun');
  refuseLeft(await finishRemoval(deps, id));
  return answer(done, ignored);
}

export function refuseBusy({ records }: Deps, id: string): void {
  if (records.isBusy(id)) throw new ReefError('worktree_busy', `A job is at work in the worktree ${id}.`);
}

function refuseLeft({ id, status }: StoredWorktree): void {
  if (status === 'running') throw new ReefError('worktree_busy', `The worktree ${id} changed while it was put aside.`);
}

function begin(deps: Deps, id: string, from: readonly StoredWorktree['status'][]): StoredWorktree {
  return deps.records.move(id, from, (now) => ({ ...now, intent: { kind: 'keep', by: deps.self } }));
}

/** Nothing was ever made of it, so there is nothing to keep. */
function dropQueued(deps: Deps, id: string): KeptWork {
  const endedAt = deps.clock.now().toISOString();
  deps.records.move(id, ['queued'], (now) => ({ ...now, status: 'discarded', endedAt }));
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
  deps: Deps,
  row: StoredWorktree,
  { ref, session }: { ref: string; session?: Json },
): Promise<Still> {
  try {
    await deps.at('keep.begun');
    const path = folderOf(row);
    await deps.vacate(path);
    await refuseOccupied(path);
    const worktree = await openWorktree(deps, path);
    for (let left = MOST_TRIES; left > 0; left--) {
      const stamp = await stampOf(deps.git, worktree);
      const kept = await keep(deps, { row, worktree, ref, ...(session !== undefined && { session }) });
      await deps.at('keep.kept');
      if (stamp !== (await stampOf(deps.git, worktree))) continue;
      return { kept, stamp, path, ignored: await ignoredIn(deps, worktree) };
    }
    throw new ReefError('worktree_busy', `Somebody keeps changing files in ${path}.`);
  } catch (error) {
    deps.records.change(row.id, (now) => without(now, 'intent') as StoredWorktree);
    throw error;
  }
}

async function ignoredIn({ git }: Deps, worktree: Checkout): Promise<string[]> {
  const ignored: string[] = [];
  for await (const path of listIgnored(git, worktree)) if (ignored.push(path) >= MOST_IGNORED) break;
  return ignored;
}

function answer(row: StoredWorktree, ignored: string[]): KeptWork {
  const ref = row.keptOn ?? '';
  return { ref, command: ref && `reef worktree restore ${ref}`, ignored };
}
