import { ReefError } from '../protocol/errors.ts';
import { openSqlite, sqliteCode } from './driver.ts';

/** One daemon per home. SQLite takes a lock of the kernel, which ends with its process: it is never stale. */
export function holdLock(path: string): { release(): void } {
  const database = openSqlite(path, 'write', 0);
  try {
    database.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if (!sqliteCode(error).startsWith('SQLITE_BUSY')) throw error;
    throw new ReefError('home_in_use', `another daemon holds ${path}`, { cause: error });
  }
  return { release: () => database.close() };
}

/** True while a daemon holds the lock. Takes it for a moment: a daemon that starts just now has to try again. */
export function isLocked(path: string): boolean {
  try {
    holdLock(path).release();
    return false;
  } catch (error) {
    if (error instanceof ReefError && error.code === 'home_in_use') return true;
    throw error;
  }
}
