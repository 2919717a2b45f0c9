import type { Sqlite } from './driver.ts';

/** A run as it was asked for: it waits for its worktree, then its journal tells the rest. Its document is the app's own. */
export interface RunRequest<D = unknown> {
  id: string;
  /** Empty until it has one. */
  worktreeId: string;
  state: 'waiting' | 'begun' | 'over';
  doc: D;
}

interface Row {
  id: string;
  worktreeId: string;
  state: RunRequest['state'];
  doc: string;
}

export class RunTable {
  readonly #insert;
  readonly #setWorktree;
  readonly #remove;
  readonly #move;
  readonly #get;
  readonly #byKey;
  readonly #byWorktree;
  readonly #open;
  readonly #working;
  readonly #newest;
  readonly #byPrefix;

  constructor(database: Sqlite) {
    const row = 'SELECT id, worktree_id AS worktreeId, state, doc FROM run';
    this.#insert = database.prepare('INSERT INTO run (id, key, worktree_id, state, doc) VALUES (?, ?, ?, ?, ?)');
    this.#move = database.prepare('UPDATE run SET state = ? WHERE id = ?');
    this.#setWorktree = database.prepare('UPDATE run SET worktree_id = ? WHERE id = ?');
    this.#remove = database.prepare("DELETE FROM run WHERE id = ? AND state = 'waiting'");
    this.#get = database.prepare(`${row} WHERE id = ?`);
    this.#byKey = database.prepare(`${row} WHERE key = ?`);
    this.#byWorktree = database.prepare(`${row} WHERE worktree_id = ? ORDER BY id DESC`);
    this.#open = database.prepare(`${row} WHERE state != 'over' ORDER BY id`);
    this.#working = database.prepare(
      `${row} r WHERE state = 'begun'
       AND (SELECT kind FROM journal WHERE run_id = r.id ORDER BY n DESC LIMIT 1) NOT IN ('end', 'mismatch')
       AND NOT EXISTS (SELECT 1 FROM journal w WHERE w.run_id = r.id AND w.kind = 'wait'
         AND NOT EXISTS (SELECT 1 FROM journal a WHERE a.run_id = w.run_id AND a.kind = 'answer' AND a.key = w.key))`,
    );
    this.#newest = database.prepare(`${row} ORDER BY id DESC LIMIT ?`);
    this.#byPrefix = database.prepare('SELECT id FROM run WHERE id >= ? AND id < ? LIMIT 5');
  }

  insert<D>({ id, worktreeId, state, doc }: RunRequest<D>, key?: string): void {
    this.#insert.run(id, key ?? null, worktreeId, state, JSON.stringify(doc));
  }

  move(id: string, state: RunRequest['state']): void {
    this.#move.run(state, id);
  }

  setWorktree(id: string, worktreeId: string): void {
    this.#setWorktree.run(worktreeId, id);
  }

  /** Only of one that was refused: it never began. */
  remove(id: string): void {
    this.#remove.run(id);
  }

  get<D>(id: string): RunRequest<D> | undefined {
    return toRequest<D>(this.#get.get(id));
  }

  byKey<D>(key: string): RunRequest<D> | undefined {
    return toRequest<D>(this.#byKey.get(key));
  }

  /** Newest first. */
  byWorktree<D>(worktreeId: string): RunRequest<D>[] {
    return toRequests<D>(this.#byWorktree.all(worktreeId));
  }

  open<D>(): RunRequest<D>[] {
    return toRequests<D>(this.#open.all());
  }

  /** Those that go on without a person: begun, not at their end, and waiting for no answer. */
  working<D>(): RunRequest<D>[] {
    return toRequests<D>(this.#working.all());
  }

  newest<D>(count: number): RunRequest<D>[] {
    return toRequests<D>(this.#newest.all(count));
  }

  /** Ids that begin like that: more than one means the prefix is too short. */
  idsByPrefix(prefix: string): string[] {
    return (this.#byPrefix.all(prefix, `${prefix}\u{10FFFF}`) as { id: string }[]).map(({ id }) => id);
  }
}

function toRequest<D>(row: unknown): RunRequest<D> | undefined {
  if (row === undefined) return undefined;
  const { id, worktreeId, state, doc } = row as Row;
  return { id, worktreeId, state, doc: JSON.parse(doc) };
}

function toRequests<D>(rows: unknown[]): RunRequest<D>[] {
  return rows.map((row) => toRequest<D>(row)).filter((request) => request !== undefined);
}
