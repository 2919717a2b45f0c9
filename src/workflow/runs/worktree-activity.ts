import type { ActivitySource } from '../../context/manager/lifecycle.ts';
import type { Store } from '../../store/store.ts';

type Listener = Parameters<ActivitySource['onChange']>[0];

interface ActivityDeps {
  store: Store;
  folderOf(worktreeId: string): string | undefined;
}

/** Tells which worktrees a running job or an open run works in. */
export class WorktreeActivity implements ActivitySource {
  readonly #deps: ActivityDeps;
  readonly #listeners = new Set<Listener>();
  #active = new Map<string, string>();

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
    for (const [id, path] of now) if (!this.#active.has(id)) this.#tell(path, true);
    for (const [id, path] of this.#active) if (!now.has(id)) this.#tell(path, false);
    this.#active = now;
  }

  #busy(): Map<string, string> {
    const { store, folderOf } = this.#deps;
    const ofJobs = store.jobs.live().flatMap(({ job }) => (job.status === 'running' ? (job.worktree ?? []) : []));
    const ofRuns = store.runs.working().map(({ worktreeId }) => worktreeId);
    const paths = [...new Set([...ofJobs, ...ofRuns])].flatMap((id) => {
      const path = folderIfAny(id, folderOf);
      return path === undefined ? [] : [[id, path] as const];
    });
    return new Map(paths);
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
