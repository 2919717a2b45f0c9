import { findRefLock, removeRefLock } from '../../git/refs.ts';
import type { Deps } from '../deps.ts';
import { passing, refs } from '../layout.ts';
import type { StoredWorktree } from '../record.ts';

const POLL_MS = 100;

/**
 * Removes locks that a killed git of ours left on refs an intent names, when no git of ours lives. One that goes by
 * itself was somebody's; one that outlasts the wait is the dead one's.
 */
export async function freeRefs(deps: Deps, row: StoredWorktree): Promise<void> {
  for (const ref of refsOf(row)) {
    const found = await findRefLock(deps.checkout, ref);
    if (!found) continue;
    const deadline = deps.clock.monotonicMs() + deps.lockWaitMs;
    let now: typeof found | undefined = found;
    while (now?.identity === found.identity && deps.clock.monotonicMs() < deadline) {
      await deps.clock.sleep(POLL_MS);
      now = await findRefLock(deps.checkout, ref);
    }
    if (now?.identity !== found.identity) continue;
    if (await removeRefLock(deps.checkout, ref, found)) deps.log.warn('a stale lock was removed', { ref });
  }
}

/** Refs on which a lock may be ours. */
export function refsOf({ id, branch, intent }: StoredWorktree): string[] {
  const own = [refs.held(id), refs.discarded(id), refs.accepted(id), refs.archive(id), ...passing(id)];
  const target = intent?.kind === 'accept' ? [refs.branch(intent.target)] : [];
  return [refs.branch(branch), ...own, ...target];
}
