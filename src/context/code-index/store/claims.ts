import type { Sqlite } from '../../../store/driver.ts';
import { type FactKey, factKey, type Stage } from './fact-table.ts';

export interface Want extends FactKey {
  extractor: string;
  /** Higher is sooner. */
  rank: number;
}

/** How long the claims and the lease of a server outlive it if it dies. */
const CLAIM_MS = 10_000;

/**
 * Divides extraction between the servers of one repository, so that equal content is extracted once. The server that leads claims
 * what it misses itself in batches, one row of `under_way` each: a row per content would be written all over the store. The others
 * put what they miss into `wanted`. There it is claimed one by one: by the leader once it misses nothing itself, or by any server
 * for a question. The caller opens the transactions.
 */
export class Claims {
  readonly #sql: Sqlite['prepare'];
  readonly #owner: string;

  constructor(database: Sqlite, owner: string) {
    this.#sql = database.prepare;
    this.#owner = owner;
  }

  /** Asks the leader for these. What is a fact already, or under way, is left out: it would be extracted twice. */
  want(wants: readonly Want[]): void {
    const insert = this.#sql(
      `INSERT INTO wanted (oid, lang, stage, local, rank, extractor) VALUES (?, ?, ?, 0, ?, ?)
       ON CONFLICT (oid, lang, stage) DO UPDATE SET rank = max(rank, excluded.rank), extractor = excluded.extractor`,
    );
    const soon = this.#underWayElsewhere();
    for (const want of wants) {
      if (this.#isFact(want) || soon.has(factKey(want))) continue;
      insert.run(Buffer.from(want.oid, 'hex'), want.lang, want.stage, want.rank, want.extractor);
    }
  }

  #isFact({ oid, lang, stage, extractor }: FactKey & { extractor: string }): boolean {
    const sql = `SELECT 1 FROM blob b JOIN fact f ON f.blob = b.id
      WHERE b.oid = ? AND f.lang = ? AND f.stage = ? AND f.extractor = ?`;
    return this.#sql(sql).get(Buffer.from(oid, 'hex'), lang, stage, extractor) !== undefined;
  }

  /** Claims the most wanted that nobody works on. Only the leader calls this. */
  take(stage: Stage, most: number): Want[] {
    const now = Date.now();
    const rows = this.#sql(
      `SELECT hex(oid) AS oid, lang, stage, rank, extractor FROM wanted WHERE stage = ? AND local = 0 AND (owner IS NULL OR until < ?)
       ORDER BY rank DESC LIMIT ?`,
    ).all(stage, now, most) as Want[];
    const wants = rows.map((row) => ({ ...row, oid: row.oid.toLowerCase() }));
    for (const want of wants) this.#mark(want, now);
    return wants;
  }

  #mark({ oid, lang, stage }: FactKey, now: number): void {
    const sql = 'UPDATE wanted SET owner = ?, until = ? WHERE oid = ? AND lang = ? AND stage = ?';
    this.#sql(sql).run(this.#owner, now + CLAIM_MS, Buffer.from(oid, 'hex'), lang, stage);
  }

  /** Claims those that are neither facts nor claimed by another, all in one row. The row is ignored once they are facts. */
  claimAll(wants: readonly Want[]): Want[] {
    const elsewhere = this.#underWayElsewhere();
    const mine = wants.filter((want) => !this.#isFact(want) && !elsewhere.has(factKey(want)) && !this.#isClaimed(want));
    if (mine.length === 0) return [];
    const now = Date.now();
    const isAnyWanted = this.#sql('SELECT 1 FROM wanted LIMIT 1').get() !== undefined;
    if (isAnyWanted) for (const want of mine) this.#mark(want, now);
    const sql = 'INSERT INTO under_way (owner, until, keys) VALUES (?, ?, ?)';
    this.#sql(sql).run(this.#owner, now + CLAIM_MS, mine.map(factKey).join('\n'));
    return mine;
  }

  #underWayElsewhere(): Set<string> {
    const sql = 'SELECT keys FROM under_way WHERE owner <> ? AND until >= ?';
    const rows = this.#sql(sql).all(this.#owner, Date.now()) as { keys: string }[];
    return new Set(rows.flatMap(({ keys }) => keys.split('\n')));
  }

  #isClaimed({ oid, lang, stage }: FactKey): boolean {
    const sql = 'SELECT 1 FROM wanted WHERE oid = ? AND lang = ? AND stage = ? AND owner <> ? AND until >= ?';
    return this.#sql(sql).get(Buffer.from(oid, 'hex'), lang, stage, this.#owner, Date.now()) !== undefined;
  }

  /** `mine`: this server extracts it now; `busy`: another server does; `done`: it is a fact already. */
  claim(want: Omit<Want, 'rank'>, isLocal: boolean): 'mine' | 'busy' | 'done' {
    if (this.#isFact(want)) return 'done';
    if (this.#underWayElsewhere().has(factKey(want))) return 'busy';
    const { lang, stage, extractor } = want;
    const [oid, now] = [Buffer.from(want.oid, 'hex'), Date.now()];
    const { changes } = this.#sql(
      `INSERT INTO wanted (oid, lang, stage, local, rank, extractor, owner, until) VALUES (?, ?, ?, ?, 0, ?, ?, ?)
       ON CONFLICT (oid, lang, stage) DO UPDATE SET owner = excluded.owner, until = excluded.until
       WHERE owner IS NULL OR owner = excluded.owner OR until < ?`,
    ).run(oid, lang, stage, isLocal ? 1 : 0, extractor, this.#owner, now + CLAIM_MS, now);
    return changes === 1 ? 'mine' : 'busy';
  }

  done({ oid, lang, stage }: FactKey): void {
    const sql = 'DELETE FROM wanted WHERE oid = ? AND lang = ? AND stage = ?';
    this.#sql(sql).run(Buffer.from(oid, 'hex'), lang, stage);
  }

  /** Frees what this server claimed and did not begin. */
  giveBack(keys: readonly FactKey[]): void {
    const sql = 'UPDATE wanted SET owner = NULL, until = 0 WHERE oid = ? AND lang = ? AND stage = ? AND owner = ?';
    for (const { oid, lang, stage } of keys) this.#sql(sql).run(Buffer.from(oid, 'hex'), lang, stage, this.#owner);
  }

  /** Frees all claims of a server that ends, so that others need not wait until they expire. */
  release(): void {
    this.#sql('DELETE FROM wanted WHERE owner = ? AND local = 1').run(this.#owner);
    this.#sql('UPDATE wanted SET owner = NULL, until = 0 WHERE owner = ?').run(this.#owner);
    this.#sql('DELETE FROM under_way WHERE owner = ?').run(this.#owner);
    this.follow();
  }

  /** Takes or keeps the lease to lead. It ends by time alone: a pid of another namespace tells nothing. */
  lead(): boolean {
    const now = Date.now();
    this.#sql('DELETE FROM under_way WHERE until < ?').run(now);
    const { changes } = this.#sql(
      `INSERT INTO lease (role, owner, until) VALUES ('extract', ?, ?)
       ON CONFLICT (role) DO UPDATE SET owner = excluded.owner, until = excluded.until
       WHERE owner = excluded.owner OR until < ? OR until > ?`,
    ).run(this.#owner, now + CLAIM_MS, now, now + 2 * CLAIM_MS); // an end that far ahead: the clock was set back
    return changes === 1;
  }

  /** Gives the lease up: another server with work to do may lead. */
  follow(): void {
    this.#sql('DELETE FROM lease WHERE owner = ?').run(this.#owner);
  }
}
