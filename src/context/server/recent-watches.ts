import { type FSWatcher, readFileSync, watch } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Basis } from '../../protocol/code.ts';

const RECENT_MS = 10 * 60_000;
const MOST = 512;
/** All servers together use at most an eighth of the watches that the kernel gives a user. */
const SERVERS = 8;
const SHARE = 8;
const SETTLE_MS = 30;

/**
 * Watches the folders in which files changed lately, to read changes before anybody asks. No answer depends on a watch.
 * It uses one watch per folder; `recursive` would use one per file.
 */
export class RecentWatches {
  readonly root: string;
  readonly #most: number;
  readonly #onChange: (paths: readonly string[]) => void;
  readonly #watchers = new Map<string, FSWatcher>();
  readonly #changed = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #state: Basis['watch'] = 'on';

  constructor(deps: { root: string; onChange: (paths: readonly string[]) => void; most?: number }) {
    this.root = deps.root;
    this.#onChange = deps.onChange;
    this.#most = deps.most ?? budget();
  }

  get state(): Basis['watch'] {
    return this.#state;
  }

  get count(): number {
    return this.#watchers.size;
  }

  /** Watches folders with recent changes and releases the others. */
  follow(files: Iterable<{ path: string; stamp: { mtimeMs: number } }>): void {
    if (this.#state === 'off') return;
    const since = Date.now() - RECENT_MS;
    const lively = new Map<string, number>();
    for (const { path, stamp } of files) {
      if (stamp.mtimeMs > since) lively.set(dirname(path), Math.max(stamp.mtimeMs, lively.get(dirname(path)) ?? 0));
    }
    const wanted = [...lively].sort(([, a], [, b]) => b - a).slice(0, this.#most);
    const folders = new Set(wanted.map(([folder]) => folder));
    for (const [folder, watcher] of this.#watchers) if (!folders.has(folder)) this.#release(folder, watcher);
    for (const folder of folders) if (!this.#watchers.has(folder)) this.#add(folder);
    if (this.#watchers.size > 0 || lively.size === 0) this.#state = lively.size > folders.size ? 'partial' : 'on';
  }

  #add(folder: string): void {
    try {
      const watcher = watch(join(this.root, folder), { persistent: false }, (_, name) => this.#note(folder, name));
      watcher.on('error', () => this.#release(folder, watcher));
      this.#watchers.set(folder, watcher);
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException;
      if (code !== 'ENOSPC' && code !== 'EMFILE') return;
      // The kernel has no watches left for this user. Only the head start is lost.
      this.close();
      this.#state = 'off';
    }
  }

  #note(folder: string, name: string | null): void {
    if (name === null) return;
    this.#changed.add(folder === '.' ? name : `${folder}/${name}`);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      const paths = [...this.#changed];
      this.#changed.clear();
      this.#onChange(paths);
    }, SETTLE_MS).unref();
  }

  #release(folder: string, watcher: FSWatcher): void {
    watcher.close();
    this.#watchers.delete(folder);
  }

  close(): void {
    clearTimeout(this.#timer);
    for (const [folder, watcher] of this.#watchers) this.#release(folder, watcher);
  }
}

function budget(): number {
  try {
    const most = Number(readFileSync('/proc/sys/fs/inotify/max_user_watches', 'utf8'));
    return Math.min(MOST, Math.floor(most / SHARE / SERVERS));
  } catch {
    return MOST;
  }
}
