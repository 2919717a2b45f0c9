import type { Oid } from '../../../git/ref-name.ts';
import type { Sqlite } from '../../../store/driver.ts';
import type { PackedSummary } from '../../lang/contract.ts';
import type { Sketch } from '../words/sketch.ts';

/** 1: words, 2: definitions and imports. */
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
  /** Absent for words and for what was skipped: neither defines anything. */
  summary?: PackedSummary;
  bytes: number;
  /** The worktree that alone has this content: git does not. */
  localTo?: string;
}

export type FactBody = Pick<Fact, 'extractor' | 'status' | 'data'>;

/** What the places of a name in one content are. */
export interface ClassesKey extends Pick<Fact, 'oid' | 'lang' | 'extractor'> {
  name: string;
}

/** Contents that share language, extractor and status. */
export interface Covered extends Pick<Fact, 'lang' | 'extractor' | 'status'> {
  oids: readonly Oid[];
}

/** What the file of one content defines and imports, by name alone. */
export interface Defined {
  oid: Oid;
  lang: string;
  names: readonly string[];
  imports: readonly string[];
}

const DAY_MS = 86_400_000;
const PAGE = 500;

export function today(): number {
  return Math.floor(Date.now() / DAY_MS);
}

export function factKey({ oid, lang, stage }: FactKey): string {
  return `${stage} ${lang} ${oid}`;
}

/** The statements on facts of one open database. The caller opens the transactions. */
export class FactTable {
  readonly #sql: Sqlite['prepare'];

  constructor(database: Sqlite) {
    this.#sql = database.prepare;
  }

  /** Grouped into a few rows: one row per content takes longer to make than to read. */
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
    const sql =
      'SELECT coalesce(sum(length(d.data)), 0) AS n FROM fact f JOIN body d ON d.fact = f.id WHERE f.stage = 1';
    return (this.#sql(sql).get() as { n: number }).n;
  }

  body({ oid, lang, stage }: FactKey): FactBody | undefined {
    return this.#sql(
      `SELECT f.extractor, f.status, d.data FROM blob b JOIN fact f ON f.blob = b.id JOIN body d ON d.fact = f.id
       WHERE b.oid = ? AND f.lang = ? AND f.stage = ?`,
    ).get(Buffer.from(oid, 'hex'), lang, stage) as FactBody | undefined;
  }

  put(fact: Fact): void {
    const { oid, lang, stage, extractor, status, data, summary } = fact;
    const { id: blob } = this.#sql(
      `INSERT INTO blob (oid, bytes, seen_day) VALUES (?, ?, ?)
       ON CONFLICT (oid) DO UPDATE SET seen_day = excluded.seen_day RETURNING id`,
    ).get(Buffer.from(oid, 'hex'), fact.bytes, today()) as { id: number };
    const insert = () =>
      this.#sql(
        'INSERT INTO fact (blob, lang, stage, extractor, status) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING id',
      ).get(blob, lang, stage, extractor, status) as { id: number } | undefined;
    let added = insert();
    if (added === undefined) {
      const old = this.#sql('SELECT id FROM fact WHERE blob = ? AND lang = ? AND stage = ?').get(blob, lang, stage);
      this.#forget((old as { id: number }).id);
      added = insert();
    }
    const { id } = added as { id: number };
    this.#sql('INSERT INTO body (fact, data) VALUES (?, ?)').run(id, data);
    if (!summary) return;
    const sql = 'INSERT INTO defined (fact, symbols, names, imports) VALUES (?, ?, ?, ?)';
    this.#sql(sql).run(id, summary.symbols, summary.names, summary.imports);
  }

  #forget(fact: number): void {
    for (const table of ['defined', 'body']) this.#sql(`DELETE FROM ${table} WHERE fact = ?`).run(fact);
    this.#sql('DELETE FROM fact WHERE id = ?').run(fact);
  }

  classes({ oid, lang, name, extractor }: ClassesKey): string | undefined {
    const row = this.#sql(
      `SELECT c.data FROM blob b JOIN classified c ON c.blob = b.id
       WHERE b.oid = ? AND c.lang = ? AND c.name = ? AND c.extractor = ?`,
    ).get(Buffer.from(oid, 'hex'), lang, name, extractor) as { data: string } | undefined;
    return row?.data;
  }

  /** Of content that has no fact here nothing is kept. */
  putClasses({ oid, lang, name, extractor }: ClassesKey, data: string): void {
    this.#sql(
      `INSERT OR REPLACE INTO classified (blob, lang, name, extractor, data) SELECT id, ?, ?, ?, ? FROM blob WHERE oid = ?`,
    ).run(lang, name, extractor, data, Buffer.from(oid, 'hex'));
  }

  forgetBlob(id: number): void {
    const facts = this.#sql('SELECT id FROM fact WHERE blob = ?').all(id) as { id: number }[];
    for (const fact of facts) this.#forget(fact.id);
    this.#sql('DELETE FROM classified WHERE blob = ?').run(id);
    this.#sql('DELETE FROM blob WHERE id = ?').run(id);
  }

  markSeen(id: number): void {
    this.#sql('UPDATE blob SET seen_day = ? WHERE id = ?').run(today(), id);
  }

  blobs(): { id: number; oid: Oid; seenDay: number }[] {
    const rows = this.#sql('SELECT id, hex(oid) AS oid, seen_day AS seenDay FROM blob').all();
    return (rows as ReturnType<FactTable['blobs']>).map((row) => ({ ...row, oid: row.oid.toLowerCase() }));
  }

  definedAfter(id: number): (Defined & { id: number })[] {
    const rows = this.#sql(
      `SELECT f.id, hex(b.oid) AS oid, f.lang, d.names, d.imports FROM defined d JOIN fact f ON f.id = d.fact JOIN blob b ON b.id = f.blob
       WHERE d.fact > ? ORDER BY d.fact LIMIT ${PAGE}`,
    ).all(id) as ({ id: number } & StoredNames)[];
    return rows.map((row) => ({ id: row.id, ...toDefined({ ...row, oid: row.oid.toLowerCase() }) }));
  }

  countSymbols(): number {
    return (this.#sql('SELECT coalesce(sum(symbols), 0) AS n FROM defined').get() as { n: number }).n;
  }
}

type StoredNames = Pick<Fact, 'oid' | 'lang'> & Pick<PackedSummary, 'names' | 'imports'>;

export function toDefined({ oid, lang, names, imports }: StoredNames): Defined {
  return { oid, lang, names: JSON.parse(names), imports: JSON.parse(imports) };
}

/** Copies, because the row's buffer may not be aligned to 4 bytes. */
export function toSketch(data: Uint8Array): Sketch {
  const sketch = new Uint32Array(data.byteLength >>> 2);
  new Uint8Array(sketch.buffer).set(data.subarray(0, sketch.byteLength));
  return sketch;
}
