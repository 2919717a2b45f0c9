import { readRef } from '../../git/repository.ts';
import { ReefError } from '../../protocol/errors.ts';
import { refs } from '../layout.ts';
import type { Parts } from '../parts.ts';
import type { StoredWorktree } from '../record.ts';
import { without } from '../records.ts';
import { findKept } from './kept.ts';

/** Makes a record `creating` from what is kept of it; the caller then builds it. */
export async function beginReturn(parts: Parts, id: string): Promise<StoredWorktree> {
  const { status } = parts.records.get(id);
  const ref = await bestOf(parts, id);
  if (status !== 'lost' && ref === undefined) {
    throw new ReefError('worktree_state', `The worktree ${id} is ${status}: there is nothing to bring back.`);
  }
  if (ref !== undefined) await findKept(parts, ref);
  return parts.records.move(id, ['held', 'discarded', 'lost'], (now) => ({
    ...without(now, 'leftover'),
    status: 'creating',
    path: null,
    intent: { kind: 'create', by: parts.self, step: 'claimed', ...(ref !== undefined && { keptOn: ref }) },
  }));
}

/** What there is of a worktree without a folder. If it vanished: its last capture if nothing was committed since, else its branch, else its base. */
export async function bestOf(parts: Parts, id: string): Promise<string | undefined> {
  const { git, place, records } = parts;
  const row = records.get(id);
  if (row.status !== 'lost') return row.keptOn;
  const [branch, capture] = [refs.branch(row.branch), refs.capture(id)];
  const tip = await readRef(git, place, branch);
  if ((await readRef(git, place, capture)) !== undefined) {
    const { head } = await findKept(parts, capture);
    if (tip === undefined || tip === head) return capture;
  }
  return tip === undefined ? undefined : branch;
}

/** The record a ref of discarded or held work belongs to; one is made where the database no longer knows it. */
export async function recordOf(parts: Parts, ref: string): Promise<StoredWorktree> {
  const { about } = await findKept(parts, ref);
  if (!about) throw new ReefError('kept_not_found', `${ref} holds nothing that Reef put aside.`);
  const status = ref.startsWith('refs/reef/held/') ? 'held' : 'discarded';
  const { id, title, branch, base, changePlan } = about;
  const known = parts.records.find(id);
  if (known) return known;
  const taskId = parts.records.byTask(about.taskId) ? `${about.taskId} (${id})` : about.taskId;
  const row: StoredWorktree = {
    ...{ id, taskId, title, branch, base, changePlan, status, keptOn: ref },
    ...{ path: null, portBase: 0, anyway: false, overtaken: 0, announced: [], setup: { state: 'none' } },
    createdAt: parts.clock.now().toISOString(),
  };
  parts.records.transact(() => parts.records.insert(row));
  return row;
}
