import type { Changes } from './changes.ts';
import type { Sqlite } from './driver.ts';

/** A worktree as it is stored; its document is the worktree manager's own. */
export interface WorktreeRow<D = unknown> {
  id: string;
  /** The common git folder: one home may serve many repositories. */
  repository: string;
  taskId: string;
  status: string;
  /** It has a folder, a place in the queue, or work on it was begun and not ended. */
  isOpen: boolean;
  doc: D;
}

export class WorktreeTable {
  readonly #sql: Sqlite['prepare'];
  readonly #changes: Changes;

  constructor({ prepare }: Sqlite, changes: Changes) {
    this.#sql = prepare;
    this.#changes = changes;
  }

  /** False when the task has a worktree already: nothing was added. */
  insert<D>({ id, repository, taskId, status, isOpen, doc }: WorktreeRow<D>): boolean {
    this.#changes.tell({ kind: 'worktree', id });
    const values = [id, repository, taskId, status, isOpen ? 1 : 0, JSON.stringify(doc)] as const;
    const sql =
      'INSERT INTO worktree (id, repository, task_id, status, open, doc) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING';
    return this.#sql(sql).run(...values).changes === 1;
  }

  /** Compare and swap by status: false when somebody else was first. */
  update<D>({ id, status, isOpen, doc }: Omit<WorktreeRow<D>, 'repository' | 'taskId'>, from: string): boolean {
    this.#changes.tell({ kind: 'worktree', id });
    const sql = 'UPDATE worktree SET status = ?, open = ?, doc = ? WHERE id = ? AND status = ?';
    return this.#sql(sql).run(status, isOpen ? 1 : 0, JSON.stringify(doc), id, from).changes === 1;
  }

  get<D>(repository: string, id: string): D | undefined {
    return this.#select<D>('AND id = ?', repository, id)[0];
  }

  byTask<D>(repository: string, taskId: string): D | undefined {
    return this.#select<D>('AND task_id = ?', repository, taskId)[0];
  }

  /** In the order they came. */
  open<D>(repository: string): D[] {
    return this.#select<D>('AND open = 1 ORDER BY n', repository);
  }

  /** Of all repositories, as they are stored. */
  openRows(): WorktreeRow[] {
    const sql = 'SELECT id, repository, task_id AS taskId, status, doc FROM worktree WHERE open = 1 ORDER BY n';
    const rows = this.#sql<Omit<WorktreeRow<string>, 'isOpen'>>(sql).all();
    return rows.map((row) => ({ ...row, isOpen: true, doc: JSON.parse(row.doc) }));
  }

  all<D>(repository: string): D[] {
    return this.#select<D>('ORDER BY n', repository);
  }

  /** Ids that begin with `prefix`; more than one means that the prefix is too short. */
  idsByPrefix(repository: string, prefix: string): string[] {
    const sql = 'SELECT id FROM worktree WHERE repository = ? AND id >= ? AND id < ? LIMIT 5';
    const rows = this.#sql<{ id: string }>(sql).all(repository, prefix, `${prefix}\u{10FFFF}`);
    return rows.map(({ id }) => id);
  }

  newestId(repository: string): string | undefined {
    const sql = 'SELECT id FROM worktree WHERE repository = ? ORDER BY n DESC LIMIT 1';
    return this.#sql<{ id: string }>(sql).get(repository)?.id;
  }

  #select<D>(rest: string, ...values: string[]): D[] {
    const rows = this.#sql<{ doc: string }>(`SELECT doc FROM worktree WHERE repository = ? ${rest}`).all(...values);
    return rows.map(({ doc }) => JSON.parse(doc));
  }
}
