import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { systemClock } from '../../../base/clock.ts';
import { ReefError } from '../../../protocol/errors.ts';
import { openSqlite, type Sqlite } from '../../../store/driver.ts';
import { openDatabase } from '../../../store/open-database.ts';

const BUSY_MS = 5_000;
const PAGES_PER_CHECKPOINT = 1_000;
/** Less than the driver's 16 MB: a scan reads each page once, and what is used often is kept in memory in another form. */
const CACHE_KIB = 4_096;

/** Opens or creates the store. A newer Reef's store is refused and left as it is; a damaged one is set aside and made again. */
export function openFactDatabase(file: string): Sqlite {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  return openDatabase(file, prepared, { clock: systemClock });
}

function prepared(file: string): Sqlite {
  const database = openSqlite(file, 'write', BUSY_MS);
  try {
    const version = Number(database.pragma('user_version'));
    if (version > SCHEMA_VERSION) {
      throw new ReefError('store_too_new', `${file} was written by a newer Reef (${version} > ${SCHEMA_VERSION}).`);
    }
    // This works only before the first page is written.
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

/** Several servers may find an empty file at once: one makes the tables. Those of an older Reef are dropped and made again. */
function create(database: Sqlite): void {
  database.transaction(() => {
    if (Number(database.pragma('user_version')) >= SCHEMA_VERSION) return;
    const tables = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'");
    for (const { name } of tables.all() as { name: string }[]) database.exec(`DROP TABLE "${name}"`);
    database.exec(SCHEMA);
    database.pragma(`user_version = ${SCHEMA_VERSION}`);
  });
}

/** No room, no permission or a failing disk: facts stay in memory meanwhile. */
export function isUnwritable(error: unknown): boolean {
  return /^(SQLITE_(FULL|READONLY|IOERR|CANTOPEN|PERM|BUSY)|ENOSPC|EROFS|EACCES|EPERM|EDQUOT|EIO|ENOTDIR|EEXIST)/.test(
    error instanceof Error && 'code' in error ? String(error.code) : '',
  );
}

/** Raised with every change of a table. An older Reef leaves a newer store alone. */
export const SCHEMA_VERSION = 4;

/**
 * A fact belongs to content, never to a path. Its data is in `body`, so that a warm start lists the facts without reading them. What
 * it defines and imports, by name, is in `defined`. Both grow only at the end: an index over names would be rewritten all over with
 * every batch, so names are looked up in memory (name-index.ts). Fact ids are never used twice, so a reader knows what is new.
 */
const SCHEMA = `
CREATE TABLE meta (k TEXT PRIMARY KEY, v TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE blob (id INTEGER PRIMARY KEY, oid BLOB NOT NULL UNIQUE, bytes INTEGER NOT NULL, seen_day INTEGER NOT NULL);
CREATE TABLE fact (id INTEGER PRIMARY KEY AUTOINCREMENT, blob INTEGER NOT NULL, lang TEXT NOT NULL, stage INTEGER NOT NULL, extractor TEXT NOT NULL,
  status TEXT NOT NULL, UNIQUE (blob, lang, stage));
CREATE TABLE body (fact INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE defined (fact INTEGER PRIMARY KEY, symbols INTEGER NOT NULL, names TEXT NOT NULL, imports TEXT NOT NULL);
CREATE TABLE classified (blob INTEGER NOT NULL, lang TEXT NOT NULL, name TEXT NOT NULL, extractor TEXT NOT NULL, data TEXT NOT NULL,
  PRIMARY KEY (blob, lang, name)) WITHOUT ROWID;
CREATE TABLE wanted (oid BLOB NOT NULL, lang TEXT NOT NULL, stage INTEGER NOT NULL, local INTEGER NOT NULL, rank REAL NOT NULL,
  extractor TEXT NOT NULL, owner TEXT, until INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (oid, lang, stage)) WITHOUT ROWID;
CREATE TABLE under_way (id INTEGER PRIMARY KEY, owner TEXT NOT NULL, until INTEGER NOT NULL, keys TEXT NOT NULL);
CREATE INDEX wanted_next ON wanted (stage, rank DESC);
CREATE TABLE lease (role TEXT PRIMARY KEY, owner TEXT NOT NULL, until INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE worktree (path TEXT PRIMARY KEY, head TEXT NOT NULL, overlay TEXT NOT NULL, staged TEXT NOT NULL, used_at INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE base_rank (tree TEXT NOT NULL, extractor TEXT NOT NULL, data BLOB NOT NULL, PRIMARY KEY (tree, extractor)) WITHOUT ROWID;
`;
