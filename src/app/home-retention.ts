import { lstat, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '../base/log.ts';
import type { Job } from '../protocol/jobs.ts';
import type { Store } from '../store/store.ts';

/** How long and how much a home keeps of what agents wrote. Events and results stay in the database. */
export const JOB_FOLDERS = { maxAgeMs: 30 * 24 * 3_600_000, maxBytes: 2 * 1024 ** 3 } as const;
const EVERY_MS = 3_600_000;

interface Pruning {
  /** The folder `jobs` of the home. */
  dir: string;
  store: Pick<Store, 'jobs' | 'worktrees'>;
  now: Date;
  maxBytes?: number;
}

interface Folder {
  path: string;
  job: Job & { endedAt: string };
  bytes: number;
}

/**
 * Removes the folders of jobs that ended over thirty days ago and, above two gigabytes, of those that ended first. A job that
 * is at work, or whose worktree is neither merged nor discarded, keeps its own. Returns the ids of the jobs.
 */
export async function pruneJobFolders({
  dir,
  store,
  now,
  maxBytes = JOB_FOLDERS.maxBytes,
}: Pruning): Promise<string[]> {
  const open = new Set(store.worktrees.openRows().map(({ id }) => id));
  const all = await readdir(dir).catch(() => []);
  const over = all.flatMap((id): Omit<Folder, 'bytes'>[] => {
    const job = store.jobs.get(id)?.job;
    const isOver = job?.endedAt !== undefined && !(job.worktree !== undefined && open.has(job.worktree));
    return isOver ? [{ path: join(dir, id), job: { ...job, endedAt: job.endedAt ?? '' } }] : [];
  });
  over.sort((a, b) => (a.job.endedAt < b.job.endedAt ? -1 : 1));
  let total = await bytesIn(dir);
  const gone: string[] = [];
  for (const { path, job } of over) {
    const isOld = now.getTime() - Date.parse(job.endedAt) > JOB_FOLDERS.maxAgeMs;
    if (!isOld && total <= maxBytes) break;
    total -= await bytesIn(path);
    await rm(path, { recursive: true, force: true });
    gone.push(job.id);
  }
  return gone;
}

/** All files below a folder. Links are not followed. */
export async function bytesIn(path: string): Promise<number> {
  const entry = await lstat(path).catch(() => undefined);
  if (!entry?.isDirectory()) return entry?.size ?? 0;
  let bytes = 0;
  for (const name of await readdir(path).catch(() => [])) bytes += await bytesIn(join(path, name));
  return bytes;
}

/** Does the work now and every hour. A failure is logged, and tried again with the next. */
export function everyHour(work: () => Promise<void>, log: Pick<Logger, 'warn'>): { stop(): void } {
  const once = () => void work().catch((error: unknown) => log.warn('the home was not cleaned up', { error }));
  once();
  const timer = setInterval(once, EVERY_MS).unref();
  return { stop: () => clearInterval(timer) };
}
