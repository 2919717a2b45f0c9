import { existsSync, renameSync, rmSync } from 'node:fs';
import { setAside } from '../base/atomic-file.ts';
import type { Clock } from '../base/clock.ts';
import { ReefError } from '../protocol/errors.ts';
import { sqliteCode } from './driver.ts';

interface DamagedHandling {
  clock: Clock;
  /** Is told where the damaged file is now, before a new one is made. */
  onDamage?(aside: string): void;
}

/** Opens a database file. A damaged one is set aside, never overwritten, and a new one is made in its place. */
export function openDatabase<T>(path: string, open: (path: string) => T, { clock, onDamage }: DamagedHandling): T {
  try {
    return open(path);
  } catch (error) {
    if (!isDamaged(error)) throw error;
    const aside = setDatabaseAside(path, clock);
    onDamage?.(aside);
    return open(path);
  }
}

/** True when the file itself is damaged, so that another try on it is pointless. */
export function isDamaged(error: unknown): boolean {
  return /^SQLITE_(CORRUPT|NOTADB)/.test(sqliteCode(error instanceof ReefError ? error.cause : error));
}

/** Moves a database with its write-ahead log: a log left behind would be replayed into the new database. */
export function setDatabaseAside(path: string, clock: Clock): string {
  const aside = setAside(path, clock);
  if (existsSync(`${path}-wal`)) renameSync(`${path}-wal`, `${aside}-wal`);
  rmSync(`${path}-shm`, { force: true });
  return aside;
}
