import { mkdirSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { ReefError } from '../../../protocol/errors.ts';
import { openSqlite, type Sqlite } from '../../../store/driver.ts';
import { SCHEMA, SCHEMA_VERSION } from './schema.ts';

const BUSY_MS = 5_000;
const PAGES_PER_CHECKPOINT = 1_000;
/** A scan reads each page once, and what is asked for often is kept as it is used: the driver's own 16 MB would hold it twice. */
const CACHE_KIB = 4_096;

/**
 * Opens or makes the store. One of a newer Reef is refused and left as it is; one that is damaged is set aside and made anew:
 * it costs time only (C-023).
 */
export function openDatabase(file: string): Sqlite {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  try {
    return prepared(file);
  } catch (error) {
    if (!isDamaged(error)) throw error;
    setAside(file);
    return prepared(file);
  }
}

function prepared(file: string): Sqlite {
  const database = openSqlite(file, 'write', BUSY_MS);
  try {
    const version = Number(database.pragma('user_version'));
    if (version > SCHEMA_VERSION) {
      throw new ReefError('store_too_new', `${file} was written by a newer Reef (${version} > ${SCHEMA_VERSION}).`);
    }
    // Only before the first page is written.
    if (version === 0) database.pragma('auto_vacuum = INCREMENTAL');
    database.pragma('journal_mode = WAL');
    database.pragma('synchronous = NORMAL');
    database.pragma(`cache_size = -${CACHE_KIB}`);
    database.pragma(`wal_autocheckpoint = ${PAGES_PER_CHECKPOINT}`);
    if (version < SCHEMA_VERSION) create(database);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Several servers may find an empty file at once: one makes the tables. Those of an older Reef are made anew, which costs time only. */
function create(database: Sqlite): void {
  database.exec('BEGIN IMMEDIATE');
  try {
    if (Number(database.pragma('user_version')) < SCHEMA_VERSION) {
      for (const name of tablesOf(database)) database.exec(`DROP TABLE "${name}"`);
      database.exec(SCHEMA);
      database.pragma(`user_version = ${SCHEMA_VERSION}`);
    }
    database.exec('COMMIT');
  } catch (error) {
    database.exec('ROLLBACK');
    throw error;
  }
}

function tablesOf(database: Sqlite): string[] {
  const rows = database
    .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    .all();
  return (rows as { name: string }[]).map(({ name }) => name);
}

export function isDamaged(error: unknown): boolean {
  return /^SQLITE_(CORRUPT|NOTADB)/.test(codeOf(error));
}

/** No room, no right or a failing disk: facts are kept in memory until it passes (C-025). */
export function isUnwritable(error: unknown): boolean {
  return /^(SQLITE_(FULL|READONLY|IOERR|CANTOPEN|PERM|BUSY)|ENOSPC|EROFS|EACCES|EPERM|EDQUOT|EIO|ENOTDIR|EEXIST)/.test(
    codeOf(error),
  );
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

/** The write-ahead log belongs to the database: it would be replayed into the new one. */
export function setAside(file: string): void {
  const aside = `${file}.bad-${new Date().toISOString().replaceAll(':', '-')}`;
  renameSync(file, aside);
  for (const end of ['-wal', '-shm']) rmSync(`${file}${end}`, { force: true });
}
