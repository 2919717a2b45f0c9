import { readFile, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { type Checkout, redirected } from '../git/checkout.ts';
import {
  fillWorktree,
  listWorktrees,
  type NewWorktree,
  pruneWorktree,
  registerWorktree,
  removeCleanWorktree,
  removeWorktree,
  type WorktreeEntry,
} from '../git/worktree.ts';
import { ReefError } from '../protocol/errors.ts';
import type { Deps } from './deps.ts';

/**
 * Git's list of worktrees. It is a folder of small files that git writes one by one and reads without a lock: a reader
 * that meets a half-written entry dies ("failed to read commondir"). So ours are read and changed one at a time.
 */
export function withRegistry<T>({ locks }: Pick<Deps, 'locks'>, work: () => Promise<T>): Promise<T> {
  return locks.run('registry', work);
}

export function listRegistered(deps: Pick<Deps, 'git' | 'checkout' | 'clock' | 'locks'>): Promise<WorktreeEntry[]> {
  return patiently(deps, () => withRegistry(deps, () => listWorktrees(deps.git, deps.checkout)));
}

const HALF_WRITTEN = /failed to read .*(commondir|gitdir)/;
const MOST_TRIES = 5;
const PAUSE_MS = 50;

/** For work that may be repeated: the user's own git may be writing an entry just now. */
export async function patiently<T>({ clock }: Pick<Deps, 'clock'>, work: () => Promise<T>): Promise<T> {
  for (let left = MOST_TRIES; ; left--) {
    try {
      return await work();
    } catch (error) {
      const isPassing = error instanceof ReefError && error.code === 'git_failed' && HALF_WRITTEN.test(error.message);
      if (!isPassing || left <= 1) throw error;
      await clock.sleep(PAUSE_MS);
    }
  }
}

/** Registers a worktree alone, then fills it beside others: only the first part is short. */
export async function addEntry(deps: Deps, wanted: NewWorktree): Promise<Checkout> {
  const worktree = await withRegistry(deps, () => registerWorktree(deps.git, deps.checkout, wanted));
  await fillWorktree(deps.git, worktree);
  return worktree;
}

/** Of a folder that is gone. */
export async function forgetEntry(deps: Deps, path: string): Promise<void> {
  await withRegistry(deps, async () => {
    const isRegistered = (await listWorktrees(deps.git, deps.checkout)).some((entry) => entry.path === path);
    if (isRegistered) await pruneWorktree(deps.git, deps.checkout, path);
  });
}

/** With all that is in it. */
export async function removeEntry(deps: Deps, path: string): Promise<void> {
  await withRegistry(deps, async () => {
    const isRegistered = (await listWorktrees(deps.git, deps.checkout)).some((entry) => entry.path === path);
    if (isRegistered) await removeWorktree(deps.git, deps.checkout, path);
  });
}

/** False: there is work in it. */
export async function removeCleanEntry(deps: Deps, worktree: Checkout): Promise<boolean> {
  return withRegistry(deps, async () => (await removeCleanWorktree(deps.git, deps.checkout, worktree)).removed);
}

/**
 * A machine that stopped while git wrote an entry leaves one at which every later git dies. Only for a folder that we were
 * making: git names the entry after it, and the name is an id of ours.
 */
export async function mendEntry({ checkout }: Deps, path: string): Promise<void> {
  const folder = join(checkout.commonDir, 'worktrees', basename(path));
  const read = (name: string) => readFile(join(folder, name), 'utf8').catch(() => '');
  const written = await Promise.all(['commondir', 'gitdir', 'HEAD'].map(read));
  if (written.some((text) => text.trim() === '')) await rm(folder, { recursive: true, force: true });
}

/**
 * The checkout in a folder of ours, which an agent can write to: one whose `.git` leads to another repository, or to
 * another checkout of this one, is not the worktree of the record.
 */
export async function openWorktree({ git, checkout }: Deps, path: string): Promise<Checkout> {
  const worktree = await git.locate(path);
  if (worktree.toplevel === path && worktree.commonDir === checkout.commonDir) return worktree;
  throw redirected(path, `leads to ${worktree.toplevel} of ${worktree.commonDir}`);
}

export function folderOf({ id, path, status }: { id: string; path: string | null; status: string }): string {
  if (path !== null) return path;
  throw new ReefError('worktree_state', `The worktree ${id} is ${status} and has no folder.`);
}
