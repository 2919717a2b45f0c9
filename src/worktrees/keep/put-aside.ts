import type { Checkout } from '../../git/checkout.ts';
import { readRef } from '../../git/repository.ts';
import { listIgnored } from '../../git/tree.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Json } from '../../protocol/workflow.ts';
import type { KeptWork } from '../../protocol/worktrees.ts';
import type { Deps } from '../deps.ts';
import { refs } from '../layout.ts';
import { freshFields, type StoredWorktree, without } from '../records.ts';
import { folderOf, openWorktree } from '../registry.ts';
import { stampOf } from '../stamp.ts';
import { findKept, keep, putOnRef } from './kept.ts';
import { finishRemoval, refuseOccupied } from './remove.ts';

const MOST_IGNORED = 1_000;
const MOST_TRIES = 3;

/** Keeps the work on a ref, then removes the worktree with its branch. */
export async function discard(deps: Deps, id: string): Promise<KeptWork> {
  const row = deps.records.get(id);
  if (row.status === 'discarded' && row.keptOn !== undefined) return answer(row, []);
  if (row.status === 'queued') return dropQueued(deps, id);
  refuseBusy(deps, id);
  if (row.status === 'held' || row.status === 'lost') return discardKept(deps, row);
  const begun = begin(deps, id, ['running', 'accepting']);
  const { kept, stamp, ignored, path } = await keepStill(deps, begun, refs.discarded(id));
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

/** For a worktree without a folder: moves what is kept of it to the ref of discarded work. */
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

/** Keeps work, staging and session on a ref, then removes the folder. The branch stays. */
export async function hold(deps: Deps, id: string, session?: Json): Promise<KeptWork> {
  const row = deps.records.get(id);
  if (row.status === 'held' && row.keptOn !== undefined) return answer(row, []);
  refuseBusy(deps, id);
  const { stamp, ignored, path } = await keepStill(deps, begin(deps, id, ['running']), refs.held(id), session);
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

/** A queued worktree has no work to keep. */
function dropQueued(deps: Deps, id: string): KeptWork {
  const endedAt = deps.clock.now().toISOString();
  deps.records.move(id, ['queued'], (now) => ({ ...now, status: 'discarded', endedAt }));
  return { ref: '', command: '', ignored: [] };
}

/** Keeps a state that did not change meanwhile. If somebody goes on writing, nothing is removed. */
async function keepStill(deps: Deps, row: StoredWorktree, ref: string, session?: Json) {
  try {
    await deps.at('keep.begun');
    const path = folderOf(row);
    await deps.vacate(path);
    await refuseOccupied(path);
    const worktree = await openWorktree(deps, path);
    for (let left = MOST_TRIES; left > 0; left--) {
      const stamp = await stampOf(deps.git, worktree);
      const kept = await keep(deps, row, worktree, { ref, session });
      await deps.at('keep.kept');
      await deps.copies.settle(worktree);
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

/** Makes the record `creating` from what is kept of it; the caller builds it. */
export async function beginReturn(deps: Deps, id: string): Promise<StoredWorktree> {
  const { status } = deps.records.get(id);
  const ref = await bestOf(deps, id);
  if (status !== 'lost' && ref === undefined) {
    throw new ReefError('worktree_state', `The worktree ${id} is ${status}: there is nothing to bring back.`);
  }
  if (ref !== undefined) await findKept(deps, ref);
  return deps.records.move(id, ['held', 'discarded', 'lost'], (now) => ({
    ...without(now, 'leftover'),
    status: 'creating',
    path: null,
    intent: { kind: 'create', by: deps.self, step: 'claimed', ...(ref !== undefined && { keptOn: ref }) },
  }));
}

/** The ref to bring back. For a lost worktree: its last capture if nothing was committed since, else its branch. */
async function bestOf(deps: Deps, id: string): Promise<string | undefined> {
  const { git, checkout, records } = deps;
  const row = records.get(id);
  if (row.status !== 'lost') return row.keptOn;
  const [branch, capture] = [refs.branch(row.branch), refs.capture(id)];
  const tip = await readRef(git, checkout, branch);
  if ((await readRef(git, checkout, capture)) !== undefined) {
    const { head } = await findKept(deps, capture);
    if (tip === undefined || tip === head) return capture;
  }
  return tip === undefined ? undefined : branch;
}

/** The record that a ref of discarded or held work belongs to. Makes one if the database no longer has it. */
export async function recordOf(deps: Deps, ref: string): Promise<StoredWorktree> {
  const { about } = await findKept(deps, ref);
  if (!about) throw new ReefError('kept_not_found', `${ref} holds nothing that Reef put aside.`);
  const status = ref.startsWith('refs/reef/held/') ? 'held' : 'discarded';
  const { id, title, branch, base, changePlan } = about;
  const known = deps.records.find(id);
  if (known) return known;
  const taskId = deps.records.byTask(about.taskId) ? `${about.taskId} (${id})` : about.taskId;
  const own = { id, taskId, title, branch, base, changePlan, status, keptOn: ref } as const;
  const row: StoredWorktree = { ...freshFields(deps.clock.now()), ...own };
  deps.records.transact(() => deps.records.insert(row));
  return row;
}
