import type { Sqlite } from '../../../store/driver.ts';
import type { FactKey, Stage } from './fact-table.ts';

export interface Want extends FactKey {
  extractor: string;
  /** Higher is sooner. */
  rank: number;
}

/** What a server wants for itself. */
export interface OwnWant extends Want {
  /** Only this server can read it. */
  isLocal: boolean;
}

/** A server that died leaves its claims and leases for no longer than this. */
const CLAIM_MS = 10_000;
const EXTRACT = 'extract';

/**
 * Who extracts what, between the servers of one repository, so that equal content is extracted once. Who leads takes what it misses
 * itself by the batch, a row each in `under_way`: a row for each content would be written all over the store. The others put what
 * they miss into `wanted`, where it is claimed one by one: by who leads when it has nothing of its own left, by themselves for a
 * question. Transactions are the caller's.
 */
export class Claims {
  readonly #prepare: Sqlite['prepare'];
  readonly #owner: string;

  constructor(database: Sqlite, owner: string) {
    this.#prepare = database.prepare;
    this.#owner = owner;
  }

  /** Of who does not lead. What is a fact by now, or soon, is wanted no more: it would be extracted twice. */
  want(wants: readonly Want[]): void {
    const insert = this.#prepare(
      `INSERT INTO wanted (oid, lang, stage, local, rank, extractor) VALUES (?, ?, ?, 0, ?, ?)
       ON CONFLICT (oid, lang, stage) DO UPDATE SET rank = max(rank, excluded.rank), extractor = excluded.extractor`,
    );
    const soon = this.#underWayElsewhere();
    for (const want of wants) {
      if (this.#isFact(want) || soon.has(keyOf(want))) continue;
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

  /** Those of them that are neither facts nor another's, in one row, which nobody minds any more when they are facts. */
  claimAll<W extends Want>(wants: readonly W[]): W[] {
    const elsewhere = this.#underWayElsewhere();
    const mine = wants.filter((want) => {
      return !this.#isFact(want) && !elsewhere.has(keyOf(want)) && !this.#isClaimed(want);
    });
    if (mine.length === 0) return [];
    const now = Date.now();
    const isAnyWanted = this.#prepare('SELECT 1 FROM wanted LIMIT 1').get() !== undefined;
    if (isAnyWanted) for (const want of mine) this.#mark(want, now);
    const sql = 'INSERT INTO under_way (owner, until, keys) VALUES (?, ?, ?)';
    this.#prepare(sql).run(this.#owner, now + CLAIM_MS, mine.map(keyOf).join('\n'));
    return mine;
  }

  #underWayElsewhere(): Set<string> {
    const sql = 'SELECT keys FROM under_way WHERE owner <> ? AND until >= ?';
    const rows = this.#prepare(sql).all(this.#owner, Date.now()) as { keys: string }[];
    return new Set(rows.flatMap(({ keys }) => keys.split('\n')));
  }

  #isClaimed({ oid, lang, stage }: FactKey): boolean {
    const sql = 'SELECT 1 FROM wanted WHERE oid = ? AND lang = ? AND stage = ? AND owner <> ? AND until >= ?';
    return this.#prepare(sql).get(Buffer.from(oid, 'hex'), lang, stage, this.#owner, Date.now()) !== undefined;
  }

  /** `mine`: this server extracts it now; `busy`: another does; `done`: it is a fact by now. */
  claim(want: Omit<Want, 'rank'>, isLocal: boolean): 'mine' | 'busy' | 'done' {
    if (this.#isFact(want)) return 'done';
    if (this.#underWayElsewhere().has(keyOf(want))) return 'busy';
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
    this.#prepare('DELETE FROM under_way WHERE owner = ?').run(this.#owner);
    this.follow();
  }

  /** Takes or keeps the lease to drain the queue. Only its end frees it: a pid of another namespace tells nothing. */
  lead(): boolean {
    const now = Date.now();
    this.#prepare('DELETE FROM under_way WHERE until < ?').run(now);
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

function keyOf({ oid, lang, stage }: FactKey): string {
  return `${stage} ${lang} ${oid}`;
}
