/** Raised with every change of a table; an older Reef leaves a newer store alone. */
export const SCHEMA_VERSION = 3;

/**
 * A fact belongs to content, never to a path (C-020). Its data lies in `body`, so that a warm start reads what there is without
 * reading it; what it defines and imports, by name alone, lies in `defined`. Rows are only ever added at the end: an index over all
 * names would be written all over with every batch. A name is looked up in memory instead, as a word is (name-index.ts). Numbers of
 * facts are never used twice, so whoever has read up to one knows what is new.
 */
export const SCHEMA = `
CREATE TABLE meta (k TEXT PRIMARY KEY, v TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE blob (id INTEGER PRIMARY KEY, oid BLOB NOT NULL UNIQUE, bytes INTEGER NOT NULL, seen_day INTEGER NOT NULL);
CREATE TABLE fact (id INTEGER PRIMARY KEY AUTOINCREMENT, blob INTEGER NOT NULL, lang TEXT NOT NULL, stage INTEGER NOT NULL, extractor TEXT NOT NULL,
  status TEXT NOT NULL, UNIQUE (blob, lang, stage));
CREATE TABLE body (fact INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE defined (fact INTEGER PRIMARY KEY, symbols INTEGER NOT NULL, names TEXT NOT NULL, imports TEXT NOT NULL);
CREATE TABLE wanted (oid BLOB NOT NULL, lang TEXT NOT NULL, stage INTEGER NOT NULL, local INTEGER NOT NULL, rank REAL NOT NULL,
  extractor TEXT NOT NULL, owner TEXT, until INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (oid, lang, stage)) WITHOUT ROWID;
CREATE TABLE under_way (id INTEGER PRIMARY KEY, owner TEXT NOT NULL, until INTEGER NOT NULL, keys TEXT NOT NULL);
CREATE INDEX wanted_next ON wanted (stage, rank DESC);
CREATE TABLE lease (role TEXT PRIMARY KEY, owner TEXT NOT NULL, until INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE worktree (path TEXT PRIMARY KEY, head TEXT NOT NULL, overlay TEXT NOT NULL, staged TEXT NOT NULL, used_at INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE base_rank (tree TEXT NOT NULL, extractor TEXT NOT NULL, data BLOB NOT NULL, PRIMARY KEY (tree, extractor)) WITHOUT ROWID;
`;
