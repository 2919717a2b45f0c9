import type { Oid } from '../../../git/ref-name.ts';
import type { Sqlite } from '../../../store/driver.ts';

export interface WorktreeRow {
  path: string;
  head: string;
  /** Dirty and untracked files, as JSON. */
  overlay: string;
  /** Blobs of the index that HEAD does not have, separated by spaces. */
  staged: string;
}

const OUTGROWN = 'outgrown';
const SOURCE = 'source ';
const FRESH = 'fresh ';
const RANKS_KEPT = 8;

/** The worktrees that use this store, and the base ranks of their trees. */
export class Registry {
  readonly #sql: Sqlite['prepare'];

  constructor(database: Sqlite) {
    this.#sql = database.prepare;
  }

  worktree(path: string): WorktreeRow | undefined {
    return this.worktrees().find((row) => row.path === path);
  }

  worktrees(): WorktreeRow[] {
    return this.#sql('SELECT path, head, overlay, staged FROM worktree').all() as WorktreeRow[];
  }

  register({ path, head, overlay, staged }: WorktreeRow, sourceBytes: number): void {
    this.setMeta(`${SOURCE}${path}`, String(sourceBytes));
    const sql = 'INSERT OR REPLACE INTO worktree (path, head, overlay, staged, used_at) VALUES (?, ?, ?, ?, ?)';
    this.#sql(sql).run(path, head, overlay, staged, Date.now());
  }

  /** Notes content that only this worktree has and that is not in its row yet: nobody else may drop it. */
  addFresh(path: string, oids: Iterable<Oid>): void {
    this.setMeta(`${FRESH}${path}`, [...new Set([...this.fresh(path), ...oids])].join(' '));
  }

  fresh(path: string): Oid[] {
    return (this.meta(`${FRESH}${path}`) ?? '').split(' ').filter(Boolean);
  }

  forgetFresh(path: string): void {
    this.setMeta(`${FRESH}${path}`, undefined);
  }

  freshWorktrees(): string[] {
    const rows = this.#sql(`SELECT k FROM meta WHERE k LIKE '${FRESH}%'`).all() as { k: string }[];
    return rows.map(({ k }) => k.slice(FRESH.length));
  }

  unregister(path: string): void {
    this.#sql('DELETE FROM worktree WHERE path = ?').run(path);
    this.setMeta(`${SOURCE}${path}`, undefined);
  }

  largestSource(): number {
    const sql = `SELECT max(CAST(m.v AS INTEGER)) AS bytes FROM worktree w JOIN meta m ON m.k = '${SOURCE}' || w.path`;
    return (this.#sql(sql).get() as { bytes: number | null }).bytes ?? 0;
  }

  /** How many times its source the store is after a collection. Undefined: it is not too large. */
  outgrown(): number | undefined {
    const times = this.meta(OUTGROWN);
    return times === undefined ? undefined : Number(times);
  }

  setOutgrown(times: number | undefined): void {
    this.setMeta(OUTGROWN, times?.toString());
  }

  baseRank(tree: Oid, extractor: string): Buffer | undefined {
    const row = this.#sql('SELECT data FROM base_rank WHERE tree = ? AND extractor = ?').get(tree, extractor);
    return (row as { data: Buffer } | undefined)?.data;
  }

  keepBaseRank(tree: Oid, extractor: string, data: Uint8Array): void {
    this.#sql('INSERT OR REPLACE INTO base_rank (tree, extractor, data) VALUES (?, ?, ?)').run(tree, extractor, data);
    this.#sql(
      `DELETE FROM base_rank WHERE (tree, extractor) NOT IN (SELECT tree, extractor FROM base_rank WHERE extractor = ? LIMIT ${RANKS_KEPT})
       AND tree <> ?`,
    ).run(extractor, tree);
  }

  meta(key: string): string | undefined {
    return (this.#sql('SELECT v FROM meta WHERE k = ?').get(key) as { v: string } | undefined)?.v;
  }

  setMeta(key: string, value: string | undefined): void {
    if (value === undefined) this.#sql('DELETE FROM meta WHERE k = ?').run(key);
    else this.#sql('INSERT OR REPLACE INTO meta (k, v) VALUES (?, ?)').run(key, value);
  }
}
