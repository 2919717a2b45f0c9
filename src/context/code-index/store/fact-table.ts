import type { Oid } from '../../../git/ref-name.ts';
import type { Sqlite } from '../../../store/driver.ts';
import type { PackedSummary } from '../../lang/contract.ts';
import type { Sketch } from '../words/sketch.ts';

/** Contents of which the same is known. */
export interface Covered {
  oids: readonly Oid[];
  lang: string;
  extractor: string;
  status: FactStatus;
}

/** What the file of one content defines and imports, by name alone. */
export interface Defined {
  oid: Oid;
  lang: string;
  names: readonly string[];
  imports: readonly string[];
}

const DAY_MS = 86_400_000;
/** Rows read at once. */
const PAGE = 500;

export function today(): number {
  return Math.floor(Date.now() / DAY_MS);
}

/** The statements on facts of one open database. Transactions are the caller's. */
export class FactTable {
  readonly #sql: Sqlite['prepare'];

  constructor(database: Sqlite) {
    this.#sql = database.prepare;
  }

  /** In a few rows: one for each content would take longer to make than to read. */
  covered(stage: Stage): Covered[] {
    const rows = this.#sql(
      `SELECT f.lang, f.extractor, f.status, group_concat(hex(b.oid), ' ') AS oids FROM fact f JOIN blob b ON b.id = f.blob
       WHERE f.stage = ? GROUP BY f.lang, f.extractor, f.status`,
    ).all(stage) as (Omit<Covered, 'oids'> & { oids: string })[];
    return rows.map((row) => ({ ...row, oids: row.oids.toLowerCase().split(' ') }));
  }

  sketchesAfter(id: number): { id: number; oid: Oid; sketch: Sketch }[] {
    const rows = this.#sql(
      `SELECT f.id, hex(b.oid) AS oid, d.data FROM fact f JOIN body d ON d.fact = f.id JOIN blob b ON b.id = f.blob
       WHERE f.stage = 1 AND f.id > ? ORDER BY f.id LIMIT ${PAGE}`,
    ).all(id) as { id: number; oid: string; data: Buffer }[];
    return rows.map((row) => ({ id: row.id, oid: row.oid.toLowerCase(), sketch: toSketch(row.data) }));
  }

  hasSketches(): boolean {
    return this.#sql('SELECT 1 FROM fact WHERE stage = 1 LIMIT 1').get() !== undefined;
  }

  sketchBytes(): number {
    const row = this.#sql(
      'SELECT sum(length(d.data)) AS bytes FROM fact f JOIN body d ON d.fact = f.id WHERE f.stage = 1',
    ).get();
    return (row as { bytes: number | null }).bytes ?? 0;
  }

  body({ oid, lang, stage }: FactKey): { extractor: string; status: FactStatus; data: Buffer } | undefined {
    return this.#sql(
      `SELECT f.extractor, f.status, d.data FROM blob b JOIN fact f ON f.blob = b.id JOIN body d ON d.fact = f.id
       WHERE b.oid = ? AND f.lang = ? AND f.stage = ?`,
    ).get(Buffer.from(oid, 'hex'), lang, stage) as ReturnType<FactTable['body']>;
  }

  put(facts: readonly Fact[]): void {
    const insert = this.#sql('INSERT INTO defined (fact, symbols, names, imports) VALUES (?, ?, ?, ?)');
    for (const fact of facts) {
      const id = this.#putFact(fact);
      if (fact.summary) insert.run(id, fact.summary.symbols, fact.summary.names, fact.summary.imports);
    }
  }

  #putFact(fact: Fact): number {
    const { id: blob } = this.#sql(
      `INSERT INTO blob (oid, bytes, seen_day) VALUES (?, ?, ?)
       ON CONFLICT (oid) DO UPDATE SET seen_day = excluded.seen_day RETURNING id`,
    ).get(Buffer.from(fact.oid, 'hex'), fact.bytes, today()) as { id: number };
    const { lang, stage, extractor, status } = fact;
    const insert = () =>
      this.#sql(
        `INSERT INTO fact (blob, lang, stage, extractor, status) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING id`,
      ).get(blob, lang, stage, extractor, status) as { id: number } | undefined;
    let added = insert();
    if (added === undefined) {
      this.#dropFact(blob, fact);
      added = insert();
    }
    const { id } = added as { id: number };
    this.#sql('INSERT INTO body (fact, data) VALUES (?, ?)').run(id, fact.data);
    return id;
  }

  #dropFact(blob: number, { lang, stage }: Pick<Fact, 'lang' | 'stage'>): void {
    const old = this.#sql('SELECT id FROM fact WHERE blob = ? AND lang = ? AND stage = ?').get(blob, lang, stage);
    if (old !== undefined) this.#forget((old as { id: number }).id);
  }

  #forget(fact: number): void {
    for (const table of ['defined', 'body']) this.#sql(`DELETE FROM ${table} WHERE fact = ?`).run(fact);
    this.#sql('DELETE FROM fact WHERE id = ?').run(fact);
  }

  /** Whatever is known of a blob goes. */
  forgetBlob(id: number): void {
    const facts = this.#sql('SELECT id FROM fact WHERE blob = ?').all(id) as { id: number }[];
    for (const fact of facts) this.#forget(fact.id);
    this.#sql('DELETE FROM blob WHERE id = ?').run(id);
  }

  markSeen(id: number): void {
    this.#sql('UPDATE blob SET seen_day = ? WHERE id = ?').run(today(), id);
  }

  blobs(): { id: number; oid: Oid; bytes: number; seenDay: number }[] {
    const rows = this.#sql('SELECT id, hex(oid) AS oid, bytes, seen_day AS seenDay FROM blob').all();
    return (rows as ReturnType<FactTable['blobs']>).map((row) => ({ ...row, oid: row.oid.toLowerCase() }));
  }

  definedAfter(id: number): (Defined & { id: number })[] {
    const rows = this.#sql(
      `SELECT f.id, hex(b.oid) AS oid, f.lang, d.names, d.imports FROM defined d JOIN fact f ON f.id = d.fact JOIN blob b ON b.id = f.blob
       WHERE d.fact > ? ORDER BY d.fact LIMIT ${PAGE}`,
    ).all(id) as ({ id: number } & Stored)[];
    return rows.map((row) => ({ id: row.id, ...toDefined({ ...row, oid: row.oid.toLowerCase() }) }));
  }

  countSymbols(): number {
    return (this.#sql('SELECT coalesce(sum(symbols), 0) AS n FROM defined').get() as { n: number }).n;
  }
}

type Stored = Pick<Fact, 'oid' | 'lang'> & Pick<PackedSummary, 'names' | 'imports'>;

export function toDefined({ oid, lang, names, imports }: Stored): Defined {
  return { oid, lang, names: JSON.parse(names), imports: JSON.parse(imports) };
}

/** A copy: the row's buffer may not lie on a word's boundary. */
export function toSketch(data: Uint8Array): Sketch {
  const sketch = new Uint32Array(data.byteLength >>> 2);
  new Uint8Array(sketch.buffer).set(data.subarray(0, sketch.byteLength));
  return sketch;
}

export type Stage = 1 | 2;

/** `ok` and `partial` carry data; the others say why there is none, which is a fact too. */
export type FactStatus = 'ok' | 'partial' | 'binary' | 'too_large' | 'long_line' | 'timeout' | 'crash';

export interface FactKey {
  oid: Oid;
  /** Empty for words, which belong to no language. */
  lang: string;
  stage: Stage;
}

export interface Fact extends FactKey {
  extractor: string;
  status: FactStatus;
  data: Uint8Array;
  /** Words define nothing, and neither does what was skipped. */
  summary?: PackedSummary;
  bytes: number;
}
