import { openSqlite, type Sqlite } from '../../../store/driver.ts';
import type { RagHit } from '../rag.ts';
import { Spelling, type UsedWord } from '../text/spelling.ts';
import { stem } from '../text/words.ts';
import { VectorBlock } from './vectors.ts';

const PAGE = 5_000;
/** How many of the best by terms and by phrases are put together. */
const DEPTH = 200;
/** Measured by `bench/runtime headings`: a phrase counts twice with its terms, so more of it hides chunks that have them apart. */
const PHRASE_WEIGHT = 0.3;

/** How many respelt words are remembered. */
const MEMO = 10_000;

/** An open index. A rebuild puts another file in its place and does not change this one. */
export class IndexReader implements Collection {
  readonly #database: Sqlite;
  readonly #chunk;
  readonly #search;
  readonly #usesOfStem;
  readonly chunks: number;
  #vectors: VectorBlock | undefined;
  #spelling: Spelling | undefined;
  readonly #respelt = new Map<string, string[]>();

  constructor(path: string) {
    this.#database = openSqlite(path, 'read');
    this.#chunk = this.#database.prepare(
      'SELECT c.text, f.source, c.n AS chunk FROM chunks c JOIN files f ON f.id = c.file WHERE c.id = ?',
    );
    this.#search = this.#database.prepare(
      'SELECT rowid AS id, -rank AS score FROM terms WHERE terms MATCH ? ORDER BY rank LIMIT ?',
    );
    this.#usesOfStem = this.#database.prepare('SELECT coalesce(sum(uses), 0) AS n FROM vocabulary WHERE stem = ?');
    this.chunks = this.#number('SELECT count(*) AS n FROM chunks');
  }

  get files(): number {
    return this.#number('SELECT count(*) AS n FROM files WHERE EXISTS (SELECT 1 FROM chunks WHERE file = files.id)');
  }

  failed(): { source: string; reason: string }[] {
    const rows = this.#database.prepare(
      'SELECT source, failed AS reason FROM files WHERE failed IS NOT NULL ORDER BY id',
    );
    return rows.all() as { source: string; reason: string }[];
  }

  /** By BM25 of the terms and, with less weight, of phrases of them; best first. */
  matching({ terms, phrases }: WordQuery, count: number): number[] {
    const deep = Math.max(DEPTH, count);
    const scores = new Map(this.#scored(terms, deep).map(({ id, score }) => [id, score]));
    for (const { id, score } of this.#scored(phrases, deep))
      scores.set(id, (scores.get(id) ?? 0) + PHRASE_WEIGHT * score);
    const best = [...scores].sort(([a, of], [b, other]) => other - of || a - b);
    return best.slice(0, count).map(([id]) => id);
  }

  #scored(any: readonly string[], count: number): { id: number; score: number }[] {
    if (any.length === 0) return [];
    const query = [...new Set(any)].map((each) => `"${each}"`).join(' OR ');
    return this.#search.all(query, count) as { id: number; score: number }[];
  }

  nearest(query: Float32Array, count: number): number[] {
    this.#vectors ??= this.#readVectors(query.length);
    return this.#vectors.nearest(query, count);
  }

  chunk(id: number): Omit<RagHit, 'score'> | undefined {
    return this.#chunk.get(id) as Omit<RagHit, 'score'> | undefined;
  }

  /** The inverse document frequency of BM25; 0 for a word that does not occur. */
  rarity(word: string): number {
    const uses = Math.min(this.#uses(word), this.chunks);
    return uses === 0 ? 0 : Math.log(1 + (this.chunks - uses + 0.5) / (uses + 0.5));
  }

  respell(word: string): string[] {
    const known = this.#respelt.get(word);
    if (known) return known;
    const respelt = this.#uses(word) > 0 ? [word] : this.#vocabulary().nearest(word);
    if (this.#respelt.size < MEMO) this.#respelt.set(word, respelt);
    return respelt;
  }

  close(): void {
    this.#database.close();
  }

  #readVectors(dimensions: number): VectorBlock {
    const block = new VectorBlock(dimensions, this.chunks);
    const page = this.#database.prepare(
      'SELECT id, vector FROM chunks WHERE id > ? AND vector IS NOT NULL ORDER BY id LIMIT ?',
    );
    for (let after = 0; ; ) {
      const rows = page.all(after, PAGE) as { id: number; vector: Buffer }[];
      for (const { id, vector } of rows) block.add(id, vector);
      const last = rows.at(-1);
      if (!last) return block;
      after = last.id;
    }
  }

  /** The number of chunks with the word, in any form. */
  #uses(word: string): number {
    return (this.#usesOfStem.get(stem(word)) as { n: number }).n;
  }

  #vocabulary(): Spelling {
    this.#spelling ??= new Spelling(this.#database.prepare('SELECT word, uses FROM vocabulary').all() as UsedWord[]);
    return this.#spelling;
  }

  #number(sql: string): number {
    return (this.#database.prepare(sql).get() as { n: number }).n;
  }
}

export interface WordQuery {
  terms: readonly string[];
  /** Terms that stand side by side in the question. */
  phrases: readonly string[];
}

/** What a question needs to know about the indexed texts. */
export interface Collection {
  /** The weight of a word: rare words weigh more. */
  rarity(word: string): number;
  /** The word, or the words that were probably meant if it does not occur; may be empty. */
  respell(word: string): string[];
}
