/** Raised with every change of a table; an older Reef leaves a newer store alone. */
export const SCHEMA_VERSION = 1;

/**
 * A fact belongs to content, never to a path (C-020). Its data lies in `body`, so that a warm start reads what there is without
 * reading it. `symbol` refers to the fact's row: one blob read as two languages, a header say, keeps its symbols apart.
 */
export const SCHEMA = `
CREATE TABLE meta (k TEXT PRIMARY KEY, v TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE blob (id INTEGER PRIMARY KEY, oid BLOB NOT NULL UNIQUE, bytes INTEGER NOT NULL, lines INTEGER NOT NULL, seen_day INTEGER NOT NULL);
CREATE TABLE fact (id INTEGER PRIMARY KEY, blob INTEGER NOT NULL, lang TEXT NOT NULL, stage INTEGER NOT NULL, extractor TEXT NOT NULL,
  status TEXT NOT NULL, UNIQUE (blob, lang, stage));
CREATE TABLE body (fact INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE name (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE symbol (name INTEGER NOT NULL, fact INTEGER NOT NULL, line INTEGER NOT NULL, col INTEGER NOT NULL, kind TEXT NOT NULL,
  PRIMARY KEY (name, fact, line, col)) WITHOUT ROWID;
CREATE TABLE wanted (oid BLOB NOT NULL, lang TEXT NOT NULL, stage INTEGER NOT NULL, local INTEGER NOT NULL, rank REAL NOT NULL,
  extractor TEXT NOT NULL, owner TEXT, until INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (oid, lang, stage)) WITHOUT ROWID;
CREATE INDEX wanted_next ON wanted (stage, rank DESC);
CREATE TABLE lease (role TEXT PRIMARY KEY, owner TEXT NOT NULL, until INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE worktree (path TEXT PRIMARY KEY, head TEXT NOT NULL, overlay TEXT NOT NULL, staged TEXT NOT NULL, used_at INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE base_rank (tree TEXT NOT NULL, extractor TEXT NOT NULL, data BLOB NOT NULL, PRIMARY KEY (tree, extractor)) WITHOUT ROWID;
`;
