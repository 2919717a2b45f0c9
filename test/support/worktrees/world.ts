import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { createIds } from '../../../src/base/ids.ts';
import { createLogger } from '../../../src/base/log.ts';
import { run } from '../../../src/process/run.ts';
import { ReefError } from '../../../src/protocol/errors.ts';
import type { Job } from '../../../src/protocol/jobs.ts';
import type { WorktreeRecord } from '../../../src/protocol/worktrees.ts';
import { Store } from '../../../src/store/store.ts';
import type { ManagerOptions, Notice } from '../../../src/worktrees/deps.ts';
import { GitWorktreeManager } from '../../../src/worktrees/manager.ts';
import { makeRepository, plainGit, type TestRepository, userPicture, writeFiles } from '../repository.ts';

export interface World extends TestRepository {
  manager: GitWorktreeManager;
  notices: Notice[];
  store: Store;
  /** A job begins to work in a worktree; the result ends it. */
  work(worktreeId: string): () => void;
  logged: string[];
  dataHome: string;
  /** Another manager on the same database, as after a restart. The first is left as it is: frozen, if a test froze it. */
  reopen(options?: Partial<ManagerOptions>): Promise<GitWorktreeManager>;
  /** Submits and waits for the folder. */
  start(taskId: string, plan?: string[], more?: object): Promise<WorktreeRecord & { path: string }>;
  /** Writes a file of a worktree. */
  edit(record: { path: string | null }, path: string, content: string): void;
  /** Plain git in a worktree. */
  gitIn(path: string, ...args: string[]): string;
}

export async function makeWorld(files?: Record<string, string>, options: Partial<ManagerOptions> = {}): Promise<World> {
  const repository = makeRepository(files);
  const { root, git, checkout, env } = repository;
  const dataHome = join(root, 'data');
  const [notices, logged] = [[] as Notice[], [] as string[]];
  const log = createLogger({ write: (line) => logged.push(line), clock: systemClock, redact: (text) => text });
  const open = async (more: Partial<ManagerOptions> = {}) => {
    const store = new Store(join(root, 'reef.db'));
    const manager = await GitWorktreeManager.open({
      ...{ git, repository: checkout, store, clock: systemClock, log, dataHome, stateHome: join(root, 'state') },
      newId: createIds(systemClock),
      run: (spec) => run({ ...spec, env: { PATH: env.PATH ?? '', ...spec.env } }),
      isPortFree: async () => true,
      announce: (notice) => notices.push(notice),
      freeBytes: async () => 1e12,
      lockWaitMs: 300,
      ...options,
      ...more,
      settings: { leastMs: 0, pendingPollMs: 20, ...options.settings, ...more.settings },
    });
    onTestFinished(async () => {
      if (more.at === undefined && options.at === undefined) await manager.close();
      store.close();
    });
    return manager;
  };
  const store = new Store(join(root, 'reef.db'));
  onTestFinished(() => store.close());
  const world: World = {
    ...repository,
    notices,
    logged,
    dataHome,
    store,
    work: (id) => beginJob(store, id),
    manager: await open(),
    reopen: async (more) => {
      world.manager = await open(more);
      return world.manager;
    },
    async start(taskId, plan = [], more = {}) {
      const { id } = await world.manager.submit({ taskId, plan, ...more });
      const record = await world.manager.whenReady(id, AbortSignal.timeout(20_000));
      return { ...record, path: record.path ?? '' };
    },
    edit: ({ path }, name, content) => writeFiles(path ?? '', { [name]: content }),
    gitIn: (path, ...args) => plainGit(path, env)(...args),
  };
  return world;
}

function beginJob(store: Store, worktree: string): () => void {
  const job = { id: `JOB-${worktree}`, worktree, status: 'running' };
  store.commit(() => store.jobs.insert({ job: job as Job, runtime: {} }));
  return () => store.commit(() => store.jobs.update({ job: { ...job, status: 'completed' } as Job, runtime: {} }, 1));
}

/** What is the user's in a checkout and its repository: all but worktrees and branches of Reef's. */
export function usersOwn(checkout: string): string[] {
  const isReefs = /^\.git\/(worktrees\/|(logs\/)?refs\/heads\/reef\/)/;
  return userPicture(checkout).filter((line) => !isReefs.test(line));
}

export function codeOf(attempt: Promise<unknown>): Promise<unknown> {
  return attempt.then(
    () => 'done',
    (error: unknown) => (error instanceof ReefError ? error.code : error),
  );
}

export function textOf(...path: string[]): string | undefined {
  try {
    return readFileSync(join(...path), 'utf8');
  } catch {
    return undefined;
  }
}
