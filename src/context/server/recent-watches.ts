import { type FSWatcher, readFileSync, watch } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Basis } from '../../protocol/code.ts';

const RECENT_MS = 10 * 60_000;
const MOST = 512;
/** As many servers as there may be, together at most an eighth of what the kernel gives a user. */
const SERVERS = 8;
const SHARE = 8;
const SETTLE_MS = 30;

/**
 * Watches the folders in which files changed lately, only to read changes before anybody asks: answers never rest on a watch.
 * One watch per folder; `recursive` would take one per file.
 */
export class RecentWatches {
  readonly root: string;
  readonly #most: number;
  readonly #onChange: (paths: readonly string[]) => void;
  readonly #watchers = new Map<string, FSWatcher>();
  readonly #changed = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #state: Basis['watch'] = 'on';

  constructor({
    root,
    onChange,
    most = budget(),
  }: { root: string; onChange: (paths: readonly string[]) => void; most?: number }) {
    this.root = root;
    this.#onChange = onChange;
    this.#most = most;
  }

  get state(): Basis['watch'] {
    return this.#state;
  }

  get count(): number {
    return this.#watchers.size;
  }

  /** Follows what changed lately; folders that went quiet are let go. */
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
      // The kernel has none left for this user: nothing but the head start is lost.
      if (code === 'ENOSPC' || code === 'EMFILE') this.#giveUp();
    }
  }

  #giveUp(): void {
    this.close();
    this.#state = 'off';
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
