import { checkoutIn } from '../../base/home.ts';
import type { ActivitySource } from '../../context/manager/lifecycle.ts';
import type { Store } from '../../store/store.ts';

type Listener = Parameters<ActivitySource['onChange']>[0];

interface ActivityDeps {
  store: Store;
  /** The main checkout. */
  repository: string;
  folderOf(worktreeId: string): string | undefined;
}

/** Tells which checkouts a running job or an open run works in: the main one, and worktrees, whoever made them. */
export class WorktreeActivity implements ActivitySource {
  readonly #deps: ActivityDeps;
  readonly #listeners = new Set<Listener>();
  #active: ReadonlySet<string> = new Set();

  constructor(deps: ActivityDeps) {
    this.#deps = deps;
  }

  onChange(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Tells what has changed since the last look. */
  look(): void {
    const now = this.#busy();
    for (const path of now) if (!this.#active.has(path)) this.#tell(path, true);
    for (const path of this.#active) if (!now.has(path)) this.#tell(path, false);
    this.#active = now;
  }

  #busy(): Set<string> {
    const { store, repository, folderOf } = this.#deps;
    const jobs = store.jobs.live().flatMap(({ job }) => (job.status === 'running' ? job : []));
    const elsewhere = jobs.filter(({ worktree }) => worktree === undefined);
    const ids = [
      ...jobs.flatMap(({ worktree }) => worktree ?? []),
      ...store.runs.working().map((run) => run.worktreeId),
    ];
    const folders = [
      ...[...new Set(ids)].map((id) => folderIfAny(id, folderOf)),
      ...[...new Set(elsewhere.map(({ cwd }) => cwd))].map((cwd) => checkoutIn(repository, cwd)),
    ];
    return new Set(folders.filter((path) => path !== undefined));
  }

  #tell(worktreePath: string, active: boolean): void {
    for (const listener of this.#listeners) listener({ worktreePath, active, removed: false });
  }
}

/** A worktree that never will stand has no server. */
function folderIfAny(id: string, folderOf: ActivityDeps['folderOf']): string | undefined {
  try {
    return folderOf(id);
  } catch {
    return undefined;
  }
}
