import { readRef } from '../../git/repository.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Deps } from '../deps.ts';
import { refs } from '../layout.ts';
import type { StoredWorktree } from '../record.ts';
import { without } from '../records.ts';
import { findKept } from './kept.ts';

/** Makes a record `creating` from what is kept of it; the caller then builds it. */
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

/** What there is of a worktree without a folder. If it vanished: its last capture if nothing was committed since, else its branch, else its base. */
export async function bestOf(deps: Deps, id: string): Promise<string | undefined> {
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

/** The record a ref of discarded or held work belongs to; one is made where the database no longer knows it. */
export async function recordOf(deps: Deps, ref: string): Promise<StoredWorktree> {
  const { about } = await findKept(deps, ref);
  if (!about) throw new ReefError('kept_not_found', `${ref} holds nothing that Reef put aside.`);
  const status = ref.startsWith('refs/reef/held/') ? 'held' : 'discarded';
  const { id, title, branch, base, changePlan } = about;
  const known = deps.records.find(id);
  if (known) return known;
  const taskId = deps.records.byTask(about.taskId) ? `${about.taskId} (${id})` : about.taskId;
  const row: StoredWorktree = {
    ...{ id, taskId, title, branch, base, changePlan, status, keptOn: ref },
    ...{ path: null, portBase: 0, anyway: false, overtaken: 0, announced: [], setup: { state: 'none' } },
    createdAt: deps.clock.now().toISOString(),
  };
  deps.records.transact(() => deps.records.insert(row));
  return row;
}
