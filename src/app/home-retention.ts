import { lstat, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../base/clock.ts';
import type { Home } from '../base/home.ts';
import type { Logger } from '../base/log.ts';
import type { OperationRequest } from '../protocol/operations.ts';
import type { HomePruning } from '../protocol/record-operations.ts';
import { pruneArtifacts } from '../repostate/artifacts/artifact-store.ts';
import type { EndedTask } from '../store/retention-table.ts';
import type { Store } from '../store/store.ts';
import { titleOf } from '../worktrees/queue.ts';

interface HomeRetentionDeps {
  home: Pick<Home, 'dir' | 'database'>;
  store: Store;
  clock: Clock;
  log: Pick<Logger, 'info' | 'warn'>;
  settings(): { keep: { days: number; mib: number } };
}

type Entry = HomePruning['entries'][number];

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const MIB = 1_048_576;
/** Of calls and of what each job used, one line each is kept. */
export const LINES_KEPT_DAYS = 365;
const PAGE = 100;
const MOST_ENTRIES = 1_000;
/** The list of ended jobs is not empty after a holiday. */
const ALWAYS_KEPT = 20;

/**
 * The home has a size. Tasks that ended long ago go with everything that was kept of them, and above the size those that were
 * started first, but none of the last day. What is at work, or whose worktree is neither merged nor discarded, stays.
 */
export class HomeRetention {
  readonly #deps: HomeRetentionDeps;
  #last: Promise<unknown> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(deps: HomeRetentionDeps) {
    this.#deps = deps;
  }

  /** Now and every hour. A failure is logged, and tried again with the next. */
  start(): void {
    const once = () =>
      void this.prune({ dryRun: false }).then(
        ({ entries, leftOut }) => {
          if (entries.length > 0) this.#deps.log.info('old tasks were removed', { tasks: entries.length + leftOut });
        },
        (error: unknown) => this.#deps.log.warn('the home was not cleaned up', { error }),
      );
    once();
    this.#timer = setInterval(once, HOUR_MS).unref();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await this.#last;
  }

  /** One at a time. It takes small steps: nobody waits for it. */
  prune(request: OperationRequest<'prune'>): Promise<HomePruning> {
    const done = this.#last.then(() => this.#prune(request));
    this.#last = done.catch(() => {});
    return done;
  }

  async #prune({ dryRun }: OperationRequest<'prune'>): Promise<HomePruning> {
    const { days, mib } = this.#deps.settings().keep;
    const limits = { days, bytes: mib * MIB };
    if (!dryRun) await this.#removeLeftovers();
    const entries: Entry[] = [];
    let count = 0;
    let bytes = await this.#bytes();
    const goes = this.#whatGoes(limits, () => bytes);
    for await (const { task, reason } of goes) {
      const size = await this.#bytesOf(task);
      if (!dryRun) await this.#remove(task);
      bytes -= size;
      count += 1;
      const { id, kind, endedAt } = task;
      const outcome = dryRun ? 'would_remove' : 'removed';
      if (count <= MOST_ENTRIES)
        entries.push({ id, kind, title: titleOf(task.task), endedAt, bytes: size, reason, outcome });
    }
    if (!dryRun) await this.#steps(() => this.#deps.store.retention.release());
    const left = dryRun ? Math.max(0, bytes) : await this.#bytes();
    return { entries, leftOut: count - entries.length, bytes: left, limits };
  }

  async *#whatGoes(
    limits: HomePruning['limits'],
    bytes: () => number,
  ): AsyncGenerator<{ task: EndedTask; reason: Entry['reason'] }> {
    const { retention } = this.#deps.store;
    const why = this.#rule(limits, bytes);
    for (let after = ''; ; ) {
      const roots = retention.roots(after, PAGE);
      for (const root of roots) {
        if (this.#isClosed) return;
        after = root.id;
        const task = retention.ended(root);
        const reason = task && why(task);
        if (task && reason) yield { task, reason };
        await nextTurn();
      }
      if (roots.length < PAGE) return;
    }
  }

  #rule({ days, bytes: most }: HomePruning['limits'], bytes: () => number) {
    const { store, clock } = this.#deps;
    const daysAgo = (count: number) => new Date(clock.now().getTime() - count * DAY_MS).toISOString();
    const [oldest, today] = [daysAgo(days), daysAgo(1)];
    const recent = new Set(store.jobs.lastEnded(ALWAYS_KEPT).map(({ job }) => job.id));
    return ({ endedAt, jobs }: EndedTask): Entry['reason'] | undefined => {
      if (endedAt < oldest && !jobs.some((id) => recent.has(id))) return 'age';
      return endedAt < today && bytes() > most ? 'size' : undefined;
    };
  }

  /** Its events and files first: after a kill in the middle the rest is found again. */
  async #remove(task: EndedTask): Promise<void> {
    const { home, store, clock } = this.#deps;
    for (const id of task.jobs) {
      store.record(() => store.retention.keepUsage(id, store.events.modelOf(id)));
      await this.#steps(() => store.record(() => store.retention.removeEvents(id)));
      await rm(join(home.dir, 'jobs', id), { recursive: true, force: true });
    }
    // Somebody may have resumed it meanwhile: then it is no longer over.
    const isStill = store.retention.ended(task) !== undefined;
    if (isStill && !this.#isClosed) store.commit(() => store.retention.removeTask(task, clock.now().toISOString()));
  }

  /** What earlier rounds retired, what was cut from the prompts of jobs that are over, and lines of a year ago. */
  async #removeLeftovers(): Promise<void> {
    const { home, store, clock } = this.#deps;
    const before = (ms: number) => new Date(clock.now().getTime() - ms).toISOString();
    for (const address of store.retention.retired(before(HOUR_MS))) {
      await nextTurn();
      if (this.#isClosed) return;
      store.record(() => store.retention.removeBlob(address));
    }
    await this.#steps(() => store.record(() => store.retention.removeLines(before(LINES_KEPT_DAYS * DAY_MS))));
    const active = new Set(store.jobs.live().flatMap(({ job }) => [job.id, job.rootId]));
    for (const { id } of store.runs.open()) active.add(id);
    const dir = join(home.dir, 'artifacts');
    await pruneArtifacts({ dir, now: clock.now(), isActive: (tree) => active.has(tree) });
    const { days } = this.#deps.settings().keep;
    // After the loss of a database no job owns them. What is known of a worktree is rebuilt when somebody asks.
    const isNobodys = (id: string) => store.jobs.get(id) === undefined;
    await removeOlder(join(home.dir, 'jobs'), clock.now().getTime() - days * DAY_MS, isNobodys);
    await removeOlder(join(home.dir, 'repostate'), clock.now().getTime() - LINES_KEPT_DAYS * DAY_MS);
  }

  async #bytesOf({ jobs }: EndedTask): Promise<number> {
    const { home, store } = this.#deps;
    let bytes = 0;
    for (const id of jobs) {
      bytes += await bytesIn(join(home.dir, 'jobs', id));
      let after: number | undefined = 0;
      await this.#steps(() => {
        const page = store.retention.eventBytes(id, after ?? 0);
        bytes += page.bytes;
        after = page.last;
        return after !== undefined;
      });
    }
    return bytes;
  }

  /** Of the database what is in use: what is free in it, and the log of its last writes, is used again. */
  async #bytes(): Promise<number> {
    const { home, store } = this.#deps;
    const files = (await bytesIn(home.database)) + (await bytesIn(`${home.database}-wal`));
    return (await bytesIn(home.dir)) - files + store.retention.usedBytes();
  }

  /** A step for each turn of the event loop, until one says that nothing was left. */
  async #steps(step: () => boolean): Promise<void> {
    while (!this.#isClosed && step()) await nextTurn();
  }
}

/** Those of the folders in `dir` in which nothing was made since. */
async function removeOlder(dir: string, beforeMs: number, mayGo: (name: string) => boolean = () => true) {
  for (const name of await readdir(dir).catch(() => [])) {
    const path = join(dir, name);
    const entry = await lstat(path).catch(() => undefined);
    if (entry && entry.mtimeMs < beforeMs && mayGo(name)) await rm(path, { recursive: true, force: true });
  }
}

/** All files below a folder. Links are not followed. */
export async function bytesIn(path: string): Promise<number> {
  const entry = await lstat(path).catch(() => undefined);
  if (!entry?.isDirectory()) return entry?.size ?? 0;
  let bytes = 0;
  for (const name of await readdir(path).catch(() => [])) bytes += await bytesIn(join(path, name));
  return bytes;
}
