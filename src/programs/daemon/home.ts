import { chmodSync, existsSync, lstatSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../base/clock.ts';
import type { Home } from '../../base/home.ts';
import { parseJson } from '../../base/safe-json.ts';
import { adopt, type ProcessIdentity } from '../../process/identity.ts';
import { ReefError } from '../../protocol/errors.ts';
import { holdLock } from '../../store/home-lock.ts';
import { listens } from '../../surfaces/client/start-daemon.ts';

const LOCK_WAIT_MS = 10_000;
const LOCK_POLL_MS = 50;

/** Makes the home, private to the user. It says whose it is, so that a person who finds the folder knows. */
export function prepareHome(home: Home): void {
  try {
    for (const dir of [home.dir, home.sockets]) {
      mkdirSync(dir, { recursive: true, mode: 0o700 });
      if (lstatSync(dir).uid !== process.getuid?.()) throw new Error(`${dir} belongs to another user`);
      chmodSync(dir, 0o700);
    }
    if (home.repository !== undefined)
      writeFileSync(join(home.dir, 'repository'), `${home.repository}\n`, { mode: 0o600 });
  } catch (error) {
    throw new ReefError('home_not_writable', `${home.dir} cannot be written: ${String(error)}`, { cause: error });
  }
}

/** From now on the runs of this home are a fleet's. */
export function markAsWorkers(home: Home, host: string): void {
  writeFileSync(home.worker, `${host}\n`, { mode: 0o600 });
}

/** A daemon would go on with the runs of a fleet as if they were its own. */
export function refuseWorkers(home: Home): void {
  if (!existsSync(home.worker)) return;
  throw new ReefError('home_in_use', `${home.dir} belongs to a worker of a fleet: start it with \`reef worker\``);
}

/**
 * Of many daemons that start at once, one gets the lock and the others exit silently. A holder that no longer listens is
 * about to end: then this waits for its lock. So does one whose lock was removed: it notices within seconds.
 */
export async function lockOrLeave(home: Home): Promise<{ release(): void }> {
  const deadline = systemClock.monotonicMs() + LOCK_WAIT_MS;
  for (;;) {
    try {
      const lock = holdLock(home.lock);
      if (await untilAlone(home, deadline)) return lock;
      process.exit(0);
    } catch (error) {
      if (!(error instanceof ReefError && error.code === 'home_in_use')) throw error;
      if ((await listens(home.socket)) || systemClock.monotonicMs() > deadline) process.exit(0);
      await systemClock.sleep(LOCK_POLL_MS);
    }
  }
}

/** Whether the daemon that was here before is gone. It may have lost its lock, or the whole home, and not know it yet. */
async function untilAlone(home: Home, deadline: number): Promise<boolean> {
  const isThere = async () => isRunning(home.daemon) || (await listens(home.socket));
  while (await isThere()) {
    if (systemClock.monotonicMs() > deadline) return false;
    await systemClock.sleep(LOCK_POLL_MS);
  }
  return true;
}

function isRunning(file: string): boolean {
  const said = parseJson(existsSync(file) ? readFileSync(file, 'utf8') : '');
  const { pid, startTime, bootId } = (said.ok ? said.value : {}) as Partial<ProcessIdentity>;
  if (pid === undefined || startTime === undefined || bootId === undefined) return false;
  return pid !== process.pid && adopt({ pid, startTime, bootId }) === 'alive';
}
