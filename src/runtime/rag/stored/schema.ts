import { openSqlite, type Sqlite } from '../../../store/driver.ts';

/** An index of another version is built anew: it holds nothing that cannot be made again. */
const VERSION = 1;

/** What the whole index was made with; with anything else it is another index. */
export interface IndexTraits {
  chunk_size: number;
  chunk_overlap: number;
  /** Empty: no vectors wanted. */
  wanted_embedder: string;
}

export interface IndexMeta extends IndexTraits {
  version: number;
  /** Whose vectors are in it; empty when there are none, also when the wanted embedder failed. */
  embedder: string;
}

const SCHEMA = `
  CREATE TABLE meta (value TEXT NOT NULL);
  CREATE TABLE files (id INTEGER PRIMARY KEY, source TEXT NOT NULL UNIQUE, hash TEXT NOT NULL, failed TEXT);
  CREATE TABLE chunks (id INTEGER PRIMARY KEY, file INTEGER NOT NULL, n INTEGER NOT NULL, text TEXT NOT NULL, vector BLOB);
  CREATE INDEX chunks_of_file ON chunks (file);
  CREATE TABLE vocabulary (word TEXT PRIMARY KEY, stem TEXT NOT NULL, uses INTEGER NOT NULL) WITHOUT ROWID;
  CREATE INDEX words_of_stem ON vocabulary (stem);
  CREATE VIRTUAL TABLE terms USING fts5(body, content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 0');
`;

/** A new index in a file nobody else knows yet: should we crash, the file is worthless anyway. */
export function createIndex(path: string): Sqlite {
  const database = openForBuilding(path);
  database.exec(SCHEMA);
  return database;
}

export function openForBuilding(path: string): Sqlite {
  const database = openSqlite(path);
  database.pragma('journal_mode = MEMORY');
  database.pragma('synchronous = OFF');
  return database;
}

export function writeMeta(database: Sqlite, meta: Omit<IndexMeta, 'version'>): void {
  database.exec('DELETE FROM meta');
  database.prepare('INSERT INTO meta VALUES (?)').run(JSON.stringify({ ...meta, version: VERSION }));
}

/** Undefined for what is no index of this version. */
export function readMeta(path: string): IndexMeta | undefined {
  try {
    const database = openSqlite(path, 'read');
    try {
      const row = database.prepare('SELECT value FROM meta').get() as { value: string } | undefined;
      const meta = row && (JSON.parse(row.value) as IndexMeta);
      return meta?.version === VERSION ? meta : undefined;
    } finally {
      database.close();
    }
  } catch {
    return undefined; // missing, damaged or something else altogether: all of them mean building it
  }
}

export function hasTraits(meta: IndexMeta, traits: IndexTraits): boolean {
  return (
    meta.chunk_size === traits.chunk_size &&
    meta.chunk_overlap === traits.chunk_overlap &&
    meta.wanted_embedder === traits.wanted_embedder
  );
}
