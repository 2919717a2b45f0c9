import type { Oid } from '../git/ref-name.ts';
import type { ProcessIdentity } from '../process/identity.ts';
import { ReefError } from '../protocol/errors.ts';
import type { PendingMerge, PullRequest, WorktreeRecord, WorktreeStatus } from '../protocol/worktrees.ts';
import type { Store } from '../store/store.ts';
import type { ForgeRepository } from './forge/remote.ts';

/** Written before the work begins: after a kill the row says what to look for. */
export type Intent = { by: ProcessIdentity } & (
  | {
      kind: 'create';
      /** The ref of work to restore; without it, the worktree starts from the tip of its base. */
      keptOn?: string;
      /** `made`: the checkout stands; what follows may be repeated. */
      step: 'claimed' | 'made';
    }
  /** Nothing is removed yet; forgetting the intent takes it back. */
  | { kind: 'keep' }
  | { kind: 'accept'; commit: Oid; target: string; stamp: string; head: Oid }
  | {
      kind: 'remove';
      path: string;
      /** The state that was kept. Anything else in the folder is somebody's work. */
      stamp: string;
      /** Goes too, if it has not moved. */
      branch?: { name: string; at: Oid };
    }
);

/** The record with the fields that only the manager needs. */
export interface StoredWorktree extends WorktreeRecord {
  title: string;
  /** The worktree that this branch of a fork is merged back into; it stays outside the queue. */
  parentId?: string;
  createdAt: string;
  endedAt?: string;
  anyway: boolean;
  /** Worktrees in which one task is tried several times: they do not wait for each other, as one of them is merged. */
  group?: string;
  overtaken: number;
  setup: { state: 'none' | 'done' | 'failed'; message?: string; seconds?: number };
  intent?: Intent;
  pending?: PendingMerge & { options: { strategy: 'squash' | 'merge' | 'ff'; yes: boolean; message?: string } };
  /** Files that the last update left in conflict; those without marks took one side. */
  conflict?: { files: string[]; unmarked: string[] };
  merged?: { commit: Oid; target: string };
  /** What lies at a remote, on a branch of its own. */
  pushed?: { remote: string; branch: string; commit: Oid; tree: Oid };
  pr?: PullRequest & ForgeRepository;
  /** When the newest remark was written that came back from the pull request. */
  heard?: string;
  /** The ref that holds its work while it has no folder. */
  keptOn?: string;
  failure?: { code: string; message: string };
  /** Worktrees with which a hot clash was announced. */
  announced: string[];
  /** A folder that was left because it had changed or somebody was in it. */
  leftover?: { path: string; why: string; removing?: Extract<Intent, { kind: 'remove' }> };
}

const ENDED: readonly WorktreeStatus[] = ['accepted', 'discarded'];

function isOpen(row: StoredWorktree): boolean {
  return !ENDED.includes(row.status) || row.intent !== undefined;
}

export function freshFields(now: Date) {
  const setup: StoredWorktree['setup'] = { state: 'none' };
  return { path: null, portBase: 0, anyway: false, overtaken: 0, announced: [], setup, createdAt: now.toISOString() };
}

export function toRecord(row: StoredWorktree): WorktreeRecord {
  const { id, taskId, path, branch, base, changePlan, portBase, priority, submodules, status } = row;
  const record = { id, taskId, path, branch, base, changePlan, portBase, status };
  return { ...record, ...(priority !== undefined && { priority }), ...(submodules && { submodules }) };
}

type Change = (row: StoredWorktree) => StoredWorktree;

/** The stored worktrees of one repository. Every change reads and writes in one durable transaction. */
export class Records {
  readonly #store: Store;
  readonly #repository: string;

  constructor(store: Store, repository: string) {
    this.#store = store;
    this.#repository = repository;
  }

  /** False if the task has one already. */
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
    if (text !== '@last') ids.push(...this.idsByPrefix(text.toUpperCase()));
    if (ids.length > 1) {
      throw new ReefError('ambiguous_id', `${text} begins several worktrees.`, { details: { ids } });
    }
    return this.get(ids[0] ?? text);
  }

  idsByPrefix(prefix: string): string[] {
    return this.#store.worktrees.idsByPrefix(this.#repository, prefix);
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

  /** Worktrees in which a job or a run is at work, or about to be. */
  atWork(): Set<string> {
    const { jobs, runs } = this.#store;
    const ofJobs = jobs.live().flatMap(({ job }) => (job.status === 'paused' ? [] : (job.worktree ?? [])));
    const coming = runs.open().filter(({ state }) => state === 'waiting');
    return new Set([...ofJobs, ...[...runs.working(), ...coming].map(({ worktreeId }) => worktreeId)]);
  }

  /** No job is at work in it, and no run: those that are not over wait for an answer. */
  needsPerson(id: string): boolean {
    const { runs, journal } = this.#store;
    if (this.atWork().has(id)) return false;
    const asking = journal.waitingForPerson();
    const open = runs.open().filter(({ worktreeId }) => worktreeId === id);
    return open.every((run) => asking.has(run.id));
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

  /** Changes a record that is in one of these states; refuses in any other. */
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
