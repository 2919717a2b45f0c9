import type { Changes } from './changes.ts';
import type { Sqlite } from './driver.ts';

/** A run as it was asked for: it waits for its worktree, then its journal tells the rest. Its document is the app's own. */
export interface RunRequest<D = unknown> {
  id: string;
  /** Empty until it has one. */
  worktreeId: string;
  state: 'waiting' | 'begun' | 'over';
  doc: D;
}

export class RunTable {
  readonly #sql: Sqlite['prepare'];
  readonly #changes: Changes;

  constructor({ prepare }: Sqlite, changes: Changes) {
    this.#sql = prepare;
    this.#changes = changes;
  }

  insert<D>({ id, worktreeId, state, doc }: RunRequest<D>, key?: string): void {
    this.#changes.tell({ kind: 'run', id });
    const sql = 'INSERT INTO run (id, key, worktree_id, state, doc) VALUES (?, ?, ?, ?, ?)';
    this.#sql(sql).run(id, key ?? null, worktreeId, state, JSON.stringify(doc));
  }

  move(id: string, state: RunRequest['state']): void {
    this.#changes.tell({ kind: 'run', id });
    this.#sql('UPDATE run SET state = ? WHERE id = ?').run(state, id);
  }

  setWorktree(id: string, worktreeId: string): void {
    this.#changes.tell({ kind: 'run', id });
    this.#sql('UPDATE run SET worktree_id = ? WHERE id = ?').run(worktreeId, id);
  }

  /** Only a run that was refused and never began. */
  remove(id: string): void {
    this.#sql("DELETE FROM run WHERE id = ? AND state = 'waiting'").run(id);
  }

  get<D>(id: string): RunRequest<D> | undefined {
    return this.#select<D>('WHERE id = ?', id)[0];
  }

  byKey<D>(key: string): RunRequest<D> | undefined {
    return this.#select<D>('WHERE key = ?', key)[0];
  }

  /** Newest first. */
  byWorktree<D>(worktreeId: string): RunRequest<D>[] {
    return this.#select<D>('WHERE worktree_id = ? ORDER BY id DESC', worktreeId);
  }

  /** Runs that try the same task, oldest first. */
  byGroup<D>(group: string): RunRequest<D>[] {
    return this.#select<D>("WHERE json_extract(doc, '$.group') = ? ORDER BY id", group);
  }

  open<D>(): RunRequest<D>[] {
    return this.#select<D>("WHERE state != 'over' ORDER BY id");
  }

  overCount(): number {
    return this.#sql<{ n: number }>("SELECT count(*) AS n FROM run WHERE state = 'over'").get()?.n ?? 0;
  }

  /** Runs that continue without a person: begun, not at their end, and waiting for no answer. */
  working<D>(): RunRequest<D>[] {
    return this.#select<D>(
      `r WHERE state = 'begun'
       AND (SELECT kind FROM journal WHERE run_id = r.id ORDER BY n DESC LIMIT 1) NOT IN ('end', 'mismatch')
       AND NOT EXISTS (SELECT 1 FROM journal w WHERE w.run_id = r.id AND w.kind = 'wait'
         AND NOT EXISTS (SELECT 1 FROM journal a WHERE a.run_id = w.run_id AND a.kind = 'answer' AND a.key = w.key))`,
    );
  }

  newest<D>(count: number): RunRequest<D>[] {
    return this.#select<D>('ORDER BY id DESC LIMIT ?', count);
  }

  /** Ids that begin with `prefix`; more than one means that the prefix is too short. */
  idsByPrefix(prefix: string): string[] {
    const sql = 'SELECT id FROM run WHERE id >= ? AND id < ? LIMIT 5';
    const rows = this.#sql<{ id: string }>(sql).all(prefix, `${prefix}\u{10FFFF}`);
    return rows.map(({ id }) => id);
  }

  #select<D>(rest: string, ...values: (string | number)[]): RunRequest<D>[] {
    const sql = `SELECT id, worktree_id AS worktreeId, state, doc FROM run ${rest}`;
    const rows = this.#sql<RunRequest<string>>(sql).all(...values);
    return rows.map((row) => ({ ...row, doc: JSON.parse(row.doc) }));
  }
}
