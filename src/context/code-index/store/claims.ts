import type { Sqlite } from '../../../store/driver.ts';
import type { FactKey, Stage } from './fact.ts';
import { remembering } from './statements.ts';

export interface Want extends FactKey {
  extractor: string;
  /** Higher is sooner. */
  rank: number;
}

/** A server that died leaves its claims and leases for no longer than this (C-021). */
const CLAIM_MS = 10_000;
const EXTRACT = 'extract';

/**
 * Who extracts what, between the servers of one repository. Everything that misses a fact stands in `wanted`; whoever claims a row
 * extracts it, so equal content is extracted once. Transactions are the caller's.
 */
export class Claims {
  readonly #prepare: Sqlite['prepare'];
  readonly #owner: string;

  constructor(database: Sqlite, owner: string) {
    this.#prepare = remembering(database);
    this.#owner = owner;
  }

  /** What has become a fact meanwhile is wanted no more: it would be extracted twice. */
  want(wants: readonly Want[]): void {
    const insert = this.#prepare(
      `INSERT INTO wanted (oid, lang, stage, local, rank, extractor) VALUES (?, ?, ?, 0, ?, ?)
       ON CONFLICT (oid, lang, stage) DO UPDATE SET rank = max(rank, excluded.rank), extractor = excluded.extractor`,
    );
    for (const want of wants) {
      if (this.#isFact(want)) continue;
      insert.run(Buffer.from(want.oid, 'hex'), want.lang, want.stage, want.rank, want.extractor);
    }
  }

  #isFact({ oid, lang, stage, extractor }: FactKey & { extractor: string }): boolean {
    const sql = `SELECT 1 FROM blob b JOIN fact f ON f.blob = b.id
      WHERE b.oid = ? AND f.lang = ? AND f.stage = ? AND f.extractor = ?`;
    return this.#prepare(sql).get(Buffer.from(oid, 'hex'), lang, stage, extractor) !== undefined;
  }

  /** The most wanted that nobody works at. For the holder of the lease. */
  take(stage: Stage, most: number): Want[] {
    const now = Date.now();
    const rows = this.#prepare(
      `SELECT hex(oid) AS oid, lang, stage, rank, extractor FROM wanted WHERE stage = ? AND local = 0 AND (owner IS NULL OR until < ?)
       ORDER BY rank DESC LIMIT ?`,
    ).all(stage, now, most) as Want[];
    const wants = rows.map((row) => ({ ...row, oid: row.oid.toLowerCase() }));
    for (const want of wants) this.#mark(want, now);
    return wants;
  }

  #mark({ oid, lang, stage }: FactKey, now: number): void {
    this.#prepare('UPDATE wanted SET owner = ?, until = ? WHERE oid = ? AND lang = ? AND stage = ?').run(
      this.#owner,
      now + CLAIM_MS,
      Buffer.from(oid, 'hex'),
      lang,
      stage,
    );
  }

  /** `mine`: this server extracts it now; `busy`: another does; `done`: it is a fact by now. */
  claim(want: Omit<Want, 'rank'>, isLocal: boolean): 'mine' | 'busy' | 'done' {
    if (this.#isFact(want)) return 'done';
    const now = Date.now();
    const { changes } = this.#prepare(
      `INSERT INTO wanted (oid, lang, stage, local, rank, extractor, owner, until) VALUES (?, ?, ?, ?, 0, ?, ?, ?)
       ON CONFLICT (oid, lang, stage) DO UPDATE SET owner = excluded.owner, until = excluded.until
       WHERE owner IS NULL OR owner = excluded.owner OR until < ?`,
    ).run(
      Buffer.from(want.oid, 'hex'),
      want.lang,
      want.stage,
      isLocal ? 1 : 0,
      want.extractor,
      this.#owner,
      now + CLAIM_MS,
      now,
    );
    return changes === 1 ? 'mine' : 'busy';
  }

  done({ oid, lang, stage }: FactKey): void {
    const sql = 'DELETE FROM wanted WHERE oid = ? AND lang = ? AND stage = ?';
    this.#prepare(sql).run(Buffer.from(oid, 'hex'), lang, stage);
  }

  /** Claimed but not begun: others may have them. */
  giveBack(keys: readonly FactKey[]): void {
    const sql = 'UPDATE wanted SET owner = NULL, until = 0 WHERE oid = ? AND lang = ? AND stage = ? AND owner = ?';
    for (const { oid, lang, stage } of keys) this.#prepare(sql).run(Buffer.from(oid, 'hex'), lang, stage, this.#owner);
  }

  /** Those of a server that ends, for others to take at once. */
  release(): void {
    this.#prepare('DELETE FROM wanted WHERE owner = ? AND local = 1').run(this.#owner);
    this.#prepare('UPDATE wanted SET owner = NULL, until = 0 WHERE owner = ?').run(this.#owner);
    this.#prepare('DELETE FROM lease WHERE owner = ?').run(this.#owner);
  }

  /** Takes or keeps the lease to drain the queue. Only its end frees it: a pid of another namespace tells nothing. */
  lead(): boolean {
    const now = Date.now();
    const { changes } = this.#prepare(
      `INSERT INTO lease (role, owner, until) VALUES ('${EXTRACT}', ?, ?)
       ON CONFLICT (role) DO UPDATE SET owner = excluded.owner, until = excluded.until
       WHERE owner = excluded.owner OR until < ? OR until > ?`,
    ).run(this.#owner, now + CLAIM_MS, now, now + 2 * CLAIM_MS); // far ahead: the clock was set back meanwhile
    return changes === 1;
  }

  /** Nothing to do: whoever has, may lead. */
  follow(): void {
    this.#prepare('DELETE FROM lease WHERE owner = ?').run(this.#owner);
  }
}
