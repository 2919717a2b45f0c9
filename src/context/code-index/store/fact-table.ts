import type { Oid } from '../../../git/ref-name.ts';
import type { Sqlite } from '../../../store/driver.ts';
import type { SymbolKind } from '../../lang/contract.ts';
import { unpackFacts } from '../../lang/pack-facts.ts';
import type { Sketch } from '../words/sketch.ts';
import { type Fact, type FactKey, type FactStatus, type Stage, symbolsOf } from './fact.ts';
import { remembering } from './statements.ts';

export interface Covered {
  oid: Oid;
  lang: string;
  extractor: string;
  status: FactStatus;
}

export interface SymbolRow {
  name: string;
  oid: Oid;
  lang: string;
  kind: SymbolKind;
  line: number;
  column: number;
}

const DAY_MS = 86_400_000;
const PAGE = 500;

export function today(): number {
  return Math.floor(Date.now() / DAY_MS);
}

/** The statements on facts and symbols of one open database. Transactions are the caller's. */
export class FactTable {
  readonly #sql: Sqlite['prepare'];

  constructor(database: Sqlite) {
    this.#sql = remembering(database);
  }

  covered(stage: Stage): Covered[] {
    const rows = this.#sql(
      `SELECT hex(b.oid) AS oid, f.lang, f.extractor, f.status FROM fact f JOIN blob b ON b.id = f.blob WHERE f.stage = ?`,
    ).all(stage) as Covered[];
    for (const row of rows) row.oid = row.oid.toLowerCase();
    return rows;
  }

  /** All sketches, in pages: their rows are never in memory at once. */
  *sketches(): Generator<{ oid: Oid; sketch: Sketch }> {
    const select = this.#sql(
      `SELECT f.id, hex(b.oid) AS oid, d.data FROM fact f JOIN body d ON d.fact = f.id JOIN blob b ON b.id = f.blob
       WHERE f.stage = 1 AND f.id > ? ORDER BY f.id LIMIT ${PAGE}`,
    );
    for (let after = 0; ; ) {
      const rows = select.all(after) as { id: number; oid: string; data: Buffer }[];
      for (const { oid, data } of rows) yield { oid: oid.toLowerCase(), sketch: toSketch(data) };
      const last = rows.at(-1);
      if (last === undefined) return;
      after = last.id;
    }
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
    const defined = facts.map((fact) => symbolsOf(fact));
    const nameIds = this.#nameIds(defined.flatMap((symbols) => symbols.map(({ name }) => name)));
    const insert = this.#sql('INSERT OR IGNORE INTO symbol (name, fact, line, col, kind) VALUES (?, ?, ?, ?, ?)');
    for (const [at, fact] of facts.entries()) {
      const id = this.#putFact(fact);
      for (const { name, line, column, kind } of defined[at] ?? [])
        insert.run(nameIds.get(name) as number, id, line, column, kind);
    }
  }

  #putFact(fact: Fact): number {
    const { id: blob } = this.#sql(
      `INSERT INTO blob (oid, bytes, lines, seen_day) VALUES (?, ?, ?, ?)
       ON CONFLICT (oid) DO UPDATE SET lines = max(lines, excluded.lines), seen_day = excluded.seen_day RETURNING id`,
    ).get(Buffer.from(fact.oid, 'hex'), fact.bytes, fact.lines, today()) as { id: number };
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

  /** Each name once and in order: neighbours lie on the same page of the index. */
  #nameIds(names: readonly string[]): Map<string, number> {
    const add = this.#sql('INSERT INTO name (text) VALUES (?) ON CONFLICT DO NOTHING RETURNING id');
    const find = this.#sql('SELECT id FROM name WHERE text = ?');
    const ids = new Map<string, number>();
    for (const text of [...new Set(names)].sort()) {
      const { id } = (add.get(text) ?? find.get(text)) as { id: number };
      ids.set(text, id);
    }
    return ids;
  }

  #dropFact(blob: number, { lang, stage }: Pick<Fact, 'lang' | 'stage'>): void {
    const old = this.#sql('SELECT id FROM fact WHERE blob = ? AND lang = ? AND stage = ?').get(blob, lang, stage);
    if (old !== undefined) this.#forget((old as { id: number }).id);
  }

  /** The symbols of a fact are found by the names in its body: an index for the few that ever go would double the table. */
  #forget(fact: number): void {
    const row = this.#sql('SELECT data FROM body WHERE fact = ?').get(fact) as { data: Buffer } | undefined;
    const names = new Set((row && unpackFacts(row.data))?.definitions.map(({ name }) => name));
    const remove = this.#sql('DELETE FROM symbol WHERE name = (SELECT id FROM name WHERE text = ?) AND fact = ?');
    for (const name of names) remove.run(name, fact);
    this.#sql('DELETE FROM body WHERE fact = ?').run(fact);
    this.#sql('DELETE FROM fact WHERE id = ?').run(fact);
  }

  /** Whatever is known of a blob goes. */
  forgetBlob(id: number): void {
    const facts = this.#sql('SELECT id FROM fact WHERE blob = ?').all(id) as { id: number }[];
    for (const fact of facts) this.#forget(fact.id);
    this.#sql('DELETE FROM blob WHERE id = ?').run(id);
  }

  blobs(): { id: number; oid: Oid; bytes: number; seenDay: number }[] {
    const rows = this.#sql('SELECT id, hex(oid) AS oid, bytes, seen_day AS seenDay FROM blob').all();
    return (rows as ReturnType<FactTable['blobs']>).map((row) => ({ ...row, oid: row.oid.toLowerCase() }));
  }

  symbolsNamed(name: string): SymbolRow[] {
    const rows = this.#sql(
      `SELECT n.text AS name, hex(b.oid) AS oid, f.lang, s.kind, s.line, s.col AS column FROM name n JOIN symbol s ON s.name = n.id
       JOIN fact f ON f.id = s.fact JOIN blob b ON b.id = f.blob WHERE n.text = ?`,
    ).all(name) as SymbolRow[];
    for (const row of rows) row.oid = row.oid.toLowerCase();
    return rows;
  }

  names(): string[] {
    return (this.#sql('SELECT text FROM name').all() as { text: string }[]).map(({ text }) => text);
  }

  countSymbols(): number {
    return (this.#sql('SELECT count(*) AS n FROM symbol').get() as { n: number }).n;
  }
}

/** A copy: the row's buffer may not lie on a word's boundary. */
export function toSketch(data: Uint8Array): Sketch {
  const sketch = new Uint32Array(data.byteLength >>> 2);
  new Uint8Array(sketch.buffer).set(data.subarray(0, sketch.byteLength));
  return sketch;
}
