import type { IndexReader } from '../../src/runtime/rag/index/reader.ts';
import { termsOf } from '../../src/runtime/rag/text/words.ts';
import { openSqlite } from '../../src/store/driver.ts';

/** What a search without our work would find: BM25 over the name and the text of each chunk of an index. */
export class Bm25Peer {
  readonly #database;
  readonly #search;
  readonly #termsOf;

  /** Its own index is a new file at `path`. */
  constructor(path: string, index: IndexReader, termsIn: (text: string) => string[]) {
    this.#database = openSqlite(path);
    this.#termsOf = termsIn;
    this.#database.exec(
      "CREATE VIRTUAL TABLE terms USING fts5(body, content='', tokenize='unicode61 remove_diacritics 0')",
    );
    this.#database.exec('BEGIN');
    const insert = this.#database.prepare('INSERT INTO terms (rowid, body) VALUES (?, ?)');
    for (let id = 1; id <= index.chunks; id += 1) {
      const { source = '', text = '' } = index.chunk(id) ?? {};
      const name = source.slice(source.lastIndexOf('/') + 1);
      insert.run(id, [...termsIn(name), ...termsIn(text)].join(' '));
    }
    this.#database.exec('COMMIT');
    this.#search = this.#database.prepare('SELECT rowid AS id FROM terms WHERE terms MATCH ? ORDER BY rank LIMIT ?');
  }

  ids(question: string, count: number): number[] {
    const terms = [...new Set(this.#termsOf(question))];
    if (terms.length === 0) return [];
    const found = this.#search.all(terms.map((term) => `"${term}"`).join(' OR '), count);
    return (found as { id: number }[]).map(({ id }) => id);
  }

  close(): void {
    this.#database.close();
  }
}

/** Words as they stand, in lower case. */
export const plainTerms = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];

/** With stems, and with identifiers split at their seams. */
export const stemmedTerms = termsOf;
