import { openSqlite, type Sqlite } from '../../../store/driver.ts';
import { stem, tellingWords } from '../text/words.ts';
import { packVector } from './vectors.ts';

export interface NewFile {
  source: string;
  hash: string;
  chunks: readonly { text: string; vector: Float32Array | undefined }[];
}

export class IndexWriter {
  readonly #database: Sqlite;
  readonly #uses = new Map<string, number>();
  readonly #stems = new Map<string, string>();
  readonly #insertFile;
  readonly #insertChunk;
  readonly #insertTerms;
  readonly #deleteTerms;

  constructor(database: Sqlite) {
    this.#database = database;
    this.#insertFile = database.prepare('INSERT INTO files (source, hash, failed) VALUES (?, ?, ?) RETURNING id');
    this.#insertChunk = database.prepare('INSERT INTO chunks (file, n, text, vector) VALUES (?, ?, ?, ?) RETURNING id');
    this.#insertTerms = database.prepare('INSERT INTO terms (rowid, body) VALUES (?, ?)');
    this.#deleteTerms = database.prepare('DELETE FROM terms WHERE rowid = ?');
    database.exec('BEGIN');
  }

  /** The known sources. One that failed has an empty hash, so that it is tried again. */
  files(): Map<string, { id: number; hash: string }> {
    const rows = this.#database.prepare('SELECT id, source, hash FROM files').all();
    return new Map((rows as { id: number; source: string; hash: string }[]).map((row) => [row.source, row]));
  }

  add({ source, hash, chunks }: NewFile): void {
    const { id: file } = this.#insertFile.get(source, hash, null) as { id: number };
    for (const [index, { text, vector }] of chunks.entries()) {
      const packed = vector ? packVector(vector) : null;
      const { id } = this.#insertChunk.get(file, index + 1, text, packed) as { id: number };
      const words = indexedWords(source, text);
      this.#insertTerms.run(id, words.map((word) => this.#stem(word)).join(' '));
      this.#count(words, 1);
    }
  }

  remove(source: string, file: number): void {
    const chunks = this.#database.prepare('SELECT id, text FROM chunks WHERE file = ?').all(file);
    for (const { id, text } of chunks as { id: number; text: string }[]) {
      this.#deleteTerms.run(id);
      this.#count(indexedWords(source, text), -1);
    }
    this.#database.prepare('DELETE FROM chunks WHERE file = ?').run(file);
    this.#database.prepare('DELETE FROM files WHERE id = ?').run(file);
  }

  /** Keeps what was read of the file earlier. */
  fail(source: string, reason: string): void {
    const changed = this.#database
      .prepare("UPDATE files SET failed = ?, hash = '' WHERE source = ?")
      .run(reason, source);
    if (changed.changes === 0) this.#insertFile.get(source, '', reason);
  }

  finish(): void {
    const upsert = this.#database.prepare(
      'INSERT INTO vocabulary (word, stem, uses) VALUES (?, ?, ?) ON CONFLICT (word) DO UPDATE SET uses = uses + excluded.uses',
    );
    for (const [word, change] of this.#uses) if (change !== 0) upsert.run(word, this.#stem(word), change);
    this.#database.exec('DELETE FROM vocabulary WHERE uses <= 0');
    this.#database.exec('COMMIT');
  }

  /** Remembers stems: most texts use the same few thousand words. */
  #stem(word: string): string {
    const known = this.#stems.get(word) ?? stem(word);
    this.#stems.set(word, known);
    return known;
  }

  #count(words: readonly string[], by: number): void {
    for (const word of new Set(words)) this.#uses.set(word, (this.#uses.get(word) ?? 0) + by);
  }
}

/** The name of a document counts as text. */
function indexedWords(source: string, text: string): string[] {
  const name = source.slice(source.lastIndexOf('/') + 1);
  return [...tellingWords(name), ...tellingWords(text)];
}

/** An index of another version is built anew. */
const VERSION = 1;

/** An index with other traits has to be built anew. */
export interface IndexTraits {
  chunk_size: number;
  chunk_overlap: number;
  /** Empty for an index without vectors. */
  wanted_embedder: string;
}

export interface IndexMeta extends IndexTraits {
  version: number;
  /** The embedder of its vectors; empty if it has none, also because the embedder failed. */
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

/** Undefined if the file is not an index of this version. */
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
    return undefined; // missing or damaged: it is built
  }
}

export function hasTraits(meta: IndexMeta, traits: IndexTraits): boolean {
  return (
    meta.chunk_size === traits.chunk_size &&
    meta.chunk_overlap === traits.chunk_overlap &&
    meta.wanted_embedder === traits.wanted_embedder
  );
}
