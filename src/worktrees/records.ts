import { ReefError } from '../protocol/errors.ts';
import type { WorktreeStatus } from '../protocol/worktrees.ts';
import type { Store } from '../store/store.ts';
import { isOpen, type StoredWorktree } from './record.ts';

type Change = (row: StoredWorktree) => StoredWorktree;

/** The worktrees of one repository as stored. Every change is one durable transaction that reads what it changes. */
export class Records {
  readonly #store: Store;
  readonly #repository: string;

  constructor(store: Store, repository: string) {
    this.#store = store;
    this.#repository = repository;
  }

  /** Undefined: the task has one already. */
  insert(row: StoredWorktree): boolean {
    return this.#store.worktrees.insert({ ...this.#columns(row), repository: this.#repository, taskId: row.taskId });
  }

  transact<T>(work: () => T): T {
    return this.#store.commit(work);
  }

  find(id: string): StoredWorktree | undefined {
    return this.#store.worktrees.get(this.#repository, id);
  }

  get(id: string): StoredWorktree {
    const row = this.find(id);
    if (!row) throw new ReefError('worktree_not_found', `There is no worktree ${id}.`);
    return row;
  }

  /** A whole id, the only one that begins so, or `@last`. */
  resolve(text: string): StoredWorktree {
    const table = this.#store.worktrees;
    const ids = text === '@last' ? [table.newestId(this.#repository) ?? ''] : [];
    if (text !== '@last') ids.push(...table.idsByPrefix(this.#repository, text.toUpperCase()));
    if (ids.length > 1) {
      throw new ReefError('ambiguous_id', `${text} begins several worktrees.`, { details: { ids } });
    }
    return this.get(ids[0] ?? text);
  }

  byTask(taskId: string): StoredWorktree | undefined {
    return this.#store.worktrees.byTask(this.#repository, taskId);
  }

  open(): StoredWorktree[] {
    return this.#store.worktrees.open(this.#repository);
  }

  all(): StoredWorktree[] {
    return this.#store.worktrees.all(this.#repository);
  }

  /** Jobs at work in it, or about to be; a paused one waits for a person. */
  jobsIn(id: string): string[] {
    const live = this.#store.jobs.live().filter(({ job }) => job.worktree === id && job.status !== 'paused');
    return live.map(({ job }) => job.id);
  }

  /** A job or a run is at work in it. */
  isBusy(id: string): boolean {
    return this.jobsIn(id).length > 0 || this.#store.runs.working().some(({ worktreeId }) => worktreeId === id);
  }

  change(id: string, change: Change): StoredWorktree {
    return this.transact(() => this.changeWithin(id, change));
  }

  /** For a transaction of the caller's. */
  changeWithin(id: string, change: Change): StoredWorktree {
    const before = this.get(id);
    const after = change(before);
    this.#store.worktrees.update(this.#columns(after), before.status);
    return after;
  }

  /** Changes a record that is in one of these states; in any other it is refused by name. */
  move(id: string, from: readonly WorktreeStatus[], change: Change): StoredWorktree {
    return this.change(id, (row) => {
      if (from.includes(row.status)) return change(row);
      throw new ReefError('worktree_state', `The worktree ${id} is ${row.status}, not ${from.join(' or ')}.`, {
        details: { id, status: row.status },
      });
    });
  }

  #columns(row: StoredWorktree) {
    return { id: row.id, status: row.status, isOpen: isOpen(row), doc: row };
  }
}

/** A copy without the named fields: a stored field is absent or has a value. */
export function without<T extends object, K extends keyof T>(value: T, ...keys: readonly K[]): Omit<T, K> & Partial<T> {
  const copy = { ...value };
  for (const key of keys) delete copy[key];
  return copy;
}
