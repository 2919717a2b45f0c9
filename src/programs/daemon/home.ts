import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { systemClock } from '../../base/clock.ts';
import type { Home } from '../../base/home.ts';
import { ReefError } from '../../protocol/errors.ts';
import { holdLock } from '../../store/home-lock.ts';
import { listens } from '../../surfaces/client/start-daemon.ts';

const LOCK_WAIT_MS = 10_000;
const LOCK_POLL_MS = 50;

/** Makes the home: private to the user, and ignored by git except for what a team may want to share. */
export function prepareHome(home: Home): void {
  try {
    mkdirSync(home.dir, { recursive: true, mode: 0o700 });
    chmodSync(home.dir, 0o700);
    mkdirSync(dirname(home.socket), { recursive: true, mode: 0o700 });
    const ignore = join(home.dir, '.gitignore');
    writeFileSync(ignore, '*\n!workflows.json\n!workflows.yaml\n', { mode: 0o600 });
  } catch (error) {
    throw new ReefError('home_not_writable', `${home.dir} cannot be written: ${String(error)}`, { cause: error });
  }
}

/**
 * Of many daemons that start at once, one gets the lock and the others exit silently. A holder that no longer listens is
 * about to end: then this waits for its lock.
 */
export async function lockOrLeave(home: Home): Promise<{ release(): void }> {
  const deadline = systemClock.monotonicMs() + LOCK_WAIT_MS;
  for (;;) {
    try {
      return holdLock(home.lock);
    } catch (error) {
      if (!(error instanceof ReefError && error.code === 'home_in_use')) throw error;
      if ((await listens(home.socket)) || systemClock.monotonicMs() > deadline) process.exit(0);
      await systemClock.sleep(LOCK_POLL_MS);
    }
  }
}
