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
  readonly #insert;
  readonly #update;
  readonly #get;
  readonly #byTask;
  readonly #open;
  readonly #all;
  readonly #byPrefix;
  readonly #newest;

  constructor(database: Sqlite) {
    this.#insert = database.prepare(
      'INSERT INTO worktree (id, repository, task_id, status, open, doc) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
    );
    this.#update = database.prepare('UPDATE worktree SET status = ?, open = ?, doc = ? WHERE id = ? AND status = ?');
    this.#get = database.prepare('SELECT doc FROM worktree WHERE repository = ? AND id = ?');
    this.#byTask = database.prepare('SELECT doc FROM worktree WHERE repository = ? AND task_id = ?');
    this.#open = database.prepare('SELECT doc FROM worktree WHERE repository = ? AND open = 1 ORDER BY n');
    this.#all = database.prepare('SELECT doc FROM worktree WHERE repository = ? ORDER BY n');
    this.#byPrefix = database.prepare('SELECT id FROM worktree WHERE repository = ? AND id >= ? AND id < ? LIMIT 5');
    this.#newest = database.prepare('SELECT id FROM worktree WHERE repository = ? ORDER BY n DESC LIMIT 1');
  }

  /** False: the task has a worktree already, nothing was added. */
  insert<D>({ id, repository, taskId, status, isOpen, doc }: WorktreeRow<D>): boolean {
    const row = [id, repository, taskId, status, isOpen ? 1 : 0, JSON.stringify(doc)] as const;
    return this.#insert.run(...row).changes === 1;
  }

  /** Compare and swap by status: false when somebody else was first. */
  update<D>({ id, status, isOpen, doc }: Omit<WorktreeRow<D>, 'repository' | 'taskId'>, from: string): boolean {
    return this.#update.run(status, isOpen ? 1 : 0, JSON.stringify(doc), id, from).changes === 1;
  }

  get<D>(repository: string, id: string): D | undefined {
    return toDoc<D>(this.#get.get(repository, id));
  }

  byTask<D>(repository: string, taskId: string): D | undefined {
    return toDoc<D>(this.#byTask.get(repository, taskId));
  }

  /** In the order they came. */
  open<D>(repository: string): D[] {
    return this.#open.all(repository).map((row) => JSON.parse((row as { doc: string }).doc));
  }

  all<D>(repository: string): D[] {
    return this.#all.all(repository).map((row) => JSON.parse((row as { doc: string }).doc));
  }

  /** Ids that begin like that: more than one means the prefix is too short. */
  idsByPrefix(repository: string, prefix: string): string[] {
    const rows = this.#byPrefix.all(repository, prefix, `${prefix}\u{10FFFF}`) as { id: string }[];
    return rows.map((row) => row.id);
  }

  newestId(repository: string): string | undefined {
    return (this.#newest.get(repository) as { id: string } | undefined)?.id;
  }
}

function toDoc<D>(row: unknown): D | undefined {
  return row === undefined ? undefined : JSON.parse((row as { doc: string }).doc);
}
