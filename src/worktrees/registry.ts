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
 * Git keeps its list of worktrees in small files that it writes one by one and reads without a lock. A reader that meets
 * a half-written entry dies ("failed to read commondir"), so Reef reads and changes the list one call at a time.
 */
export function withRegistry<T>({ locks }: Pick<Deps, 'locks'>, work: () => Promise<T>): Promise<T> {
  return locks.run('registry', work);
}

export function listRegistered(deps: Pick<Deps, 'git' | 'checkout' | 'clock' | 'locks'>): Promise<WorktreeEntry[]> {
  return patiently(deps, () => withRegistry(deps, () => listWorktrees(deps.git, deps.checkout)));
}

const isHalfWritten = (said: string) => said.includes('failed to read ') && /commondir|gitdir/.test(said);
const MOST_TRIES = 5;
const PAUSE_MS = 50;

/** Repeats work while the user's own git is writing an entry. */
export async function patiently<T>({ clock }: Pick<Deps, 'clock'>, work: () => Promise<T>): Promise<T> {
  for (let left = MOST_TRIES; ; left--) {
    try {
      return await work();
    } catch (error) {
      const isPassing = error instanceof ReefError && error.code === 'git_failed' && isHalfWritten(error.message);
      if (!isPassing || left <= 1) throw error;
      await clock.sleep(PAUSE_MS);
    }
  }
}

/** Only the registration runs alone; filling the folder takes long and runs beside others. */
export async function addEntry(deps: Deps, wanted: NewWorktree): Promise<Checkout> {
  const worktree = await withRegistry(deps, () => registerWorktree(deps.git, deps.checkout, wanted));
  await fillWorktree(deps.git, worktree);
  return worktree;
}

/** For a folder that is gone. */
export function forgetEntry(deps: Deps, path: string): Promise<void> {
  return ifRegistered(deps, path, pruneWorktree);
}

/** With all that is in it. */
export function removeEntry(deps: Deps, path: string): Promise<void> {
  return ifRegistered(deps, path, removeWorktree);
}

function ifRegistered(deps: Deps, path: string, remove: typeof pruneWorktree | typeof removeWorktree): Promise<void> {
  return withRegistry(deps, async () => {
    const entries = await listWorktrees(deps.git, deps.checkout);
    if (entries.some((entry) => entry.path === path)) await remove(deps.git, deps.checkout, path);
  });
}

/** False: there is work in it. */
export async function removeCleanEntry(deps: Deps, worktree: Checkout): Promise<boolean> {
  return withRegistry(deps, async () => (await removeCleanWorktree(deps.git, deps.checkout, worktree)).removed);
}

/**
 * Removes an entry that a stopped machine left half written, since every later git dies at it. Only for a folder that Reef
 * was making: git names the entry after the folder, which is an id of Reef's.
 */
export async function mendEntry({ checkout }: Deps, path: string): Promise<void> {
  const folder = join(checkout.commonDir, 'worktrees', basename(path));
  const read = (name: string) => readFile(join(folder, name), 'utf8').catch(() => '');
  const written = await Promise.all(['commondir', 'gitdir', 'HEAD'].map(read));
  if (written.some((text) => text.trim() === '')) await rm(folder, { recursive: true, force: true });
}

/**
 * With what an agent committed in its copy. An agent can write to the folder: a `.git` that leads to another repository or
 * checkout is refused.
 */
export async function openWorktree({ git, checkout, copies }: Deps, path: string): Promise<Checkout> {
  const worktree = await git.locate(path);
  if (worktree.toplevel !== path || worktree.commonDir !== checkout.commonDir)
    throw redirected(path, `leads to ${worktree.toplevel} of ${worktree.commonDir}`);
  await copies.settle(worktree);
  return worktree;
}

export function folderOf({ id, path, status }: { id: string; path: string | null; status: string }): string {
  if (path !== null) return path;
  throw new ReefError('worktree_state', `The worktree ${id} is ${status} and has no folder.`);
}
