import { findRefLock, removeRefLock } from '../../git/refs.ts';
import { isAncestor, readRef } from '../../git/repository.ts';
import { adopt } from '../../process/identity.ts';
import { argumentsOf, processRows } from '../../process/process-table.ts';
import type { Deps } from '../deps.ts';
import { finishRemoval, processesInside } from '../keep/remove.ts';
import { passing, refs } from '../layout.ts';
import { abandon, build } from '../make/build.ts';
import { finishAccept, takeBack } from '../merge/accept.ts';
import { type StoredWorktree, without } from '../records.ts';
import { mendEntry } from '../registry.ts';

/**
 * Completes or takes back what a dead process began, by the intent it wrote. Returns what was done, in words; undefined
 * where the process is alive or the work is our own.
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
      await takeBack(deps, id);
      return `${id}: an accept that had changed nothing was taken back`;
  }
}

/** Runs before any look: git cannot list worktrees beside a half-written entry. */
export async function mendEntries(deps: Deps): Promise<void> {
  for (const row of deps.records.open()) {
    const isHalfMade = row.intent?.kind === 'create' && row.intent.step === 'claimed' && row.path !== null;
    if (!isHalfMade || deps.locks.isBusy(`worktree ${row.id}`) || !isAbandoned(deps, row)) continue;
    if (row.path !== null && (await isQuiet(deps, row))) await mendEntry(deps, row.path);
  }
}

/** True if nobody works on what the record's intent began. */
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

/** Git moves the target in one step: it has the commit or it has not. */
async function recoverAccept(
  deps: Deps,
  row: StoredWorktree,
  { commit, target }: { commit: string; target: string },
): Promise<string> {
  const { git, checkout } = deps;
  const { id } = row;
  const tip = await readRef(git, checkout, refs.branch(target));
  if (tip !== undefined && (await isAncestor(git, checkout, { of: tip, commit }))) {
    await untilLeft(deps, row);
    await finishAccept(deps, id);
    return `${id}: its merge had arrived in ${target} and was completed`;
  }
  await takeBack(deps, id);
  return `${id}: its merge had not arrived in ${target} and was taken back`;
}

const GIT_POLL_MS = 50;

/**
 * Waits for a git that outlived its daemon: until it ends, the state cannot be known. Such a git is recognised by the
 * folder, branch or commit among its arguments. It is never killed.
 */
async function isQuiet({ clock, lockWaitMs }: Deps, row: StoredWorktree): Promise<boolean> {
  const deadline = clock.monotonicMs() + lockWaitMs;
  while (isAtWork(row)) {
    if (clock.monotonicMs() >= deadline) return false;
    await clock.sleep(GIT_POLL_MS);
  }
  return true;
}

/** Waits until other processes have left the folder. Who stays longer belongs to somebody else. */
async function untilLeft({ clock, lockWaitMs }: Deps, row: StoredWorktree): Promise<void> {
  const folder = folderOf(row);
  const deadline = clock.monotonicMs() + lockWaitMs;
  while (folder !== undefined && (await processesInside(folder)).length > 0) {
    if (clock.monotonicMs() >= deadline) return;
    await clock.sleep(GIT_POLL_MS);
  }
}

function folderOf({ path, intent }: StoredWorktree): string | undefined {
  return path ?? (intent?.kind === 'remove' ? intent.path : undefined);
}

function isAtWork(row: StoredWorktree): boolean {
  const { branch, intent } = row;
  const folder = folderOf(row);
  const commit = intent?.kind === 'accept' ? intent.commit : undefined;
  const isNamed = (argument: string) => argument === folder || argument === commit || argument.includes(branch);
  return processRows().some(({ pid, isAlive }) => {
    if (!isAlive || pid === process.pid) return false;
    const [program = '', ...args] = argumentsOf(pid);
    return /(^|\/)git$/.test(program) && args.some(isNamed);
  });
}

const LOCK_POLL_MS = 100;

/**
 * Removes locks that a killed git of ours left on the refs of an intent. No git of ours is alive here, so a lock that
 * stays the same for the whole wait belongs to the dead one.
 */
async function freeRefs(deps: Deps, row: StoredWorktree): Promise<void> {
  for (const ref of refsOf(row)) {
    const found = await findRefLock(deps.checkout, ref);
    if (!found) continue;
    const deadline = deps.clock.monotonicMs() + deps.lockWaitMs;
    let now: typeof found | undefined = found;
    while (now?.identity === found.identity && deps.clock.monotonicMs() < deadline) {
      await deps.clock.sleep(LOCK_POLL_MS);
      now = await findRefLock(deps.checkout, ref);
    }
    if (now?.identity !== found.identity) continue;
    if (await removeRefLock(deps.checkout, ref, found)) deps.log.warn('a stale lock was removed', { ref });
  }
}

/** Refs that may carry a lock of ours. */
export function refsOf({ id, branch, intent }: StoredWorktree): string[] {
  const own = [refs.held(id), refs.discarded(id), refs.accepted(id), refs.archive(id), refs.pushed(id), ...passing(id)];
  const target = intent?.kind === 'accept' ? [refs.branch(intent.target)] : [];
  return [refs.branch(branch), ...own, ...target];
}
