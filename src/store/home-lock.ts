import { ReefError } from '../protocol/errors.ts';
import { openSqlite } from './driver.ts';

/**
 * One daemon per home. The lock is one of the kernel's, taken through SQLite: it ends with the process that holds it,
 * so it can be neither stale nor stolen, and no pid has to be believed.
 */
export function holdLock(path: string): { release(): void } {
  const database = openSqlite(path, 'write', 0);
  try {
    database.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if (isBusy(error)) throw new ReefError('home_in_use', `another daemon holds ${path}`, { cause: error });
    throw error;
  }
  return { release: () => database.close() };
}

/** True while a daemon holds it. Takes and drops the lock for a moment, so a daemon that starts just now tries again. */
export function isLocked(path: string): boolean {
  try {
    holdLock(path).release();
    return false;
  } catch (error) {
    if (error instanceof ReefError && error.code === 'home_in_use') return true;
    throw error;
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_BUSY');
}
