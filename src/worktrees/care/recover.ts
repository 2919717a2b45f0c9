import { isAncestor, readRef } from '../../git/repository.ts';
import { adopt } from '../../process/identity.ts';
import { finishRemoval } from '../keep/remove.ts';
import { refs } from '../layout.ts';
import { abandon, build } from '../make/build.ts';
import { finishAccept, takeBack } from '../merge/accept.ts';
import type { Parts } from '../parts.ts';
import type { StoredWorktree } from '../record.ts';
import { without } from '../records.ts';
import { mendEntry, removeEntry } from '../registry.ts';
import { freeRefs } from './stale-locks.ts';
import { isQuiet, untilLeft } from './survivors.ts';

/**
 * Completes or takes back what a dead process began, by the intent it wrote before (T-43, Q-50). Returns what was done in
 * words; nothing where the process is alive or the work is our own.
 */
export async function recover(parts: Parts, id: string): Promise<string | undefined> {
  const row = parts.records.get(id);
  if (!isAbandoned(parts, row) || !(await isQuiet(parts, row))) return undefined;
  await freeRefs(parts, row);
  switch (row.intent?.kind) {
    case 'create':
      return recoverCreation(parts, id);
    case 'keep':
      parts.records.change(id, (now) => without(now, 'intent') as StoredWorktree);
      return `${id}: putting aside had not begun to remove anything and was forgotten`;
    case 'accept':
      return recoverAccept(parts, row, row.intent);
    case 'remove':
      await untilLeft(parts, row);
      return recoverRemoval(parts, id);
    case undefined:
      await removeEntry(parts, parts.layout.scratchOf(id));
      await takeBack(parts, id);
      return `${id}: an accept that had changed nothing was taken back`;
  }
}

/** Before anything is looked at: git cannot even list worktrees beside an entry that is half written. */
export async function mendEntries(parts: Parts): Promise<void> {
  for (const row of parts.records.open()) {
    const isHalfMade = row.intent?.kind === 'create' && row.intent.step === 'claimed' && row.path !== null;
    if (!isHalfMade || parts.locks.isHeld(`worktree ${row.id}`) || !isAbandoned(parts, row)) continue;
    if (row.path !== null && (await isQuiet(parts, row))) await mendEntry(parts, row.path);
  }
}

/** What it began is not being worked on by anybody. */
export function isAbandoned({ self }: Pick<Parts, 'self'>, { intent, status, pending }: StoredWorktree): boolean {
  if (intent === undefined) return status === 'accepting' && pending === undefined;
  return intent.by.pid === self.pid || adopt(intent.by) !== 'alive';
}

async function recoverCreation(parts: Parts, id: string): Promise<string> {
  try {
    await build(parts, id);
    return `${id}: its creation was completed`;
  } catch (error) {
    const { status } = await abandon(parts, id, error);
    return `${id}: its creation could not be completed; it is ${status}`;
  }
}

async function recoverRemoval(parts: Parts, id: string): Promise<string> {
  const { path, leftover } = await finishRemoval(parts, id);
  const left = leftover?.path ?? path;
  return left === null ? `${id}: removed what was left of it` : `${id}: ${left} is left`;
}

/** Whether the target has the commit decides: git moves it in one step, so there is no third state. */
async function recoverAccept(
  parts: Parts,
  row: StoredWorktree,
  { commit, target }: { commit: string; target: string },
): Promise<string> {
  const { git, place } = parts;
  const { id } = row;
  await removeEntry(parts, parts.layout.scratchOf(id));
  const tip = await readRef(git, place, refs.branch(target));
  if (tip !== undefined && (await isAncestor(git, place, { of: tip, commit }))) {
    await untilLeft(parts, row);
    await finishAccept(parts, id);
    return `${id}: its merge had arrived in ${target} and was completed`;
  }
  await takeBack(parts, id);
  return `${id}: its merge had not arrived in ${target} and was taken back`;
}
