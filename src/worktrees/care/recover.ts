import { isAncestor, readRef } from '../../git/repository.ts';
import { adopt } from '../../process/identity.ts';
import type { Deps } from '../deps.ts';
import { finishRemoval } from '../keep/remove.ts';
import { refs } from '../layout.ts';
import { abandon, build } from '../make/build.ts';
import { finishAccept, takeBack } from '../merge/accept.ts';
import type { StoredWorktree } from '../record.ts';
import { without } from '../records.ts';
import { mendEntry, removeEntry } from '../registry.ts';
import { freeRefs } from './stale-locks.ts';
import { isQuiet, untilLeft } from './survivors.ts';

/**
 * Completes or takes back what a dead process began, by the intent it wrote before. Returns what was done in
 * words; nothing where the process is alive or the work is our own.
 */
export async function recover(deps: Deps, id: string): Promise<string | undefined> {
  const row = deps.records.get(id);
  if (!isAbandoned(deps, row) || !(await isQuiet(deps, row))) return undefined;
  await freeRefs(deps, row);
  switch (row.intent?.kind) {
    case 'create':
      return recoverCreation(deps, id);
    case 'keep':
      deps.records.change(id, (now) => without(now, 'intent') as StoredWorktree);
      return `${id}: putting aside had not begun to remove anything and was forgotten`;
    case 'accept':
      return recoverAccept(deps, row, row.intent);
    case 'remove':
      await untilLeft(deps, row);
      return recoverRemoval(deps, id);
    case undefined:
      await removeEntry(deps, deps.layout.scratchOf(id));
      await takeBack(deps, id);
      return `${id}: an accept that had changed nothing was taken back`;
  }
}

/** Before anything is looked at: git cannot even list worktrees beside an entry that is half written. */
export async function mendEntries(deps: Deps): Promise<void> {
  for (const row of deps.records.open()) {
    const isHalfMade = row.intent?.kind === 'create' && row.intent.step === 'claimed' && row.path !== null;
    if (!isHalfMade || deps.locks.isBusy(`worktree ${row.id}`) || !isAbandoned(deps, row)) continue;
    if (row.path !== null && (await isQuiet(deps, row))) await mendEntry(deps, row.path);
  }
}

/** What it began is not being worked on by anybody. */
export function isAbandoned({ self }: Pick<Deps, 'self'>, { intent, status, pending }: StoredWorktree): boolean {
  if (intent === undefined) return status === 'accepting' && pending === undefined;
  return intent.by.pid === self.pid || adopt(intent.by) !== 'alive';
}

async function recoverCreation(deps: Deps, id: string): Promise<string> {
  try {
    await build(deps, id);
    return `${id}: its creation was completed`;
  } catch (error) {
    const { status } = await abandon(deps, id, error);
    return `${id}: its creation could not be completed; it is ${status}`;
  }
}

async function recoverRemoval(deps: Deps, id: string): Promise<string> {
  const { path, leftover } = await finishRemoval(deps, id);
  const left = leftover?.path ?? path;
  return left === null ? `${id}: removed what was left of it` : `${id}: ${left} is left`;
}

/** Whether the target has the commit decides: git moves it in one step, so there is no third state. */
async function recoverAccept(
  deps: Deps,
  row: StoredWorktree,
  { commit, target }: { commit: string; target: string },
): Promise<string> {
  const { git, checkout } = deps;
  const { id } = row;
  await removeEntry(deps, deps.layout.scratchOf(id));
  const tip = await readRef(git, checkout, refs.branch(target));
  if (tip !== undefined && (await isAncestor(git, checkout, { of: tip, commit }))) {
    await untilLeft(deps, row);
    await finishAccept(deps, id);
    return `${id}: its merge had arrived in ${target} and was completed`;
  }
  await takeBack(deps, id);
  return `${id}: its merge had not arrived in ${target} and was taken back`;
}
