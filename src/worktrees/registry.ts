import { readFile, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Place } from '../git/place.ts';
import { checkBranch, checkOid, type Oid } from '../git/ref-name.ts';
import {
  listWorktrees,
  pruneWorktree,
  removeCleanWorktree,
  removeWorktree,
  type WorktreeEntry,
} from '../git/worktree.ts';
import { ReefError } from '../protocol/errors.ts';
import type { Parts } from './parts.ts';

/**
 * Git's list of worktrees. It is a folder of small files that git writes one by one and reads without a lock: a reader
 * that meets a half-written entry dies ("failed to read commondir"). So ours are read and changed one at a time.
 */
export function withRegistry<T>({ locks }: Pick<Parts, 'locks'>, work: () => Promise<T>): Promise<T> {
  return locks.hold('registry', work);
}

export function listRegistered(parts: Pick<Parts, 'git' | 'place' | 'clock' | 'locks'>): Promise<WorktreeEntry[]> {
  return patiently(parts, () => withRegistry(parts, () => listWorktrees(parts.git, parts.place)));
}

const HALF_WRITTEN = /failed to read .*(commondir|gitdir)/;
const MOST_TRIES = 5;
const PAUSE_MS = 50;

/** For work that may be repeated: the user's own git may be writing an entry just now. */
export async function patiently<T>({ clock }: Pick<Parts, 'clock'>, work: () => Promise<T>): Promise<T> {
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

export interface NewEntry {
  path: string;
  reason: string;
  commit: Oid;
  /** Absent: on no branch. */
  branch?: { name: string; isNew: boolean };
}

const CHECKOUT_MS = 600_000;

/** Registers a locked worktree alone, then fills it beside others: only the first part is short. */
export async function addEntry(parts: Parts, { path, reason, commit, branch }: NewEntry): Promise<Place> {
  const { git, place } = parts;
  const how = branch === undefined ? ['--detach'] : branch.isNew ? ['--no-track', '-b', checkBranch(branch.name)] : [];
  const from = branch && !branch.isNew ? checkBranch(branch.name) : checkOid(commit);
  const args = ['worktree', 'add', '--quiet', '--no-checkout', '--no-guess-remote', '--lock', `--reason=${reason}`];
  await withRegistry(parts, () => git.call(place, [...args, ...how, '--end-of-options', path, from]));
  const worktree = await git.locate(path);
  await git.call(worktree, ['reset', '--hard', '--quiet', '--no-recurse-submodules'], { timeoutMs: CHECKOUT_MS });
  return worktree;
}

/** Of a folder that is gone. */
export async function forgetEntry(parts: Parts, path: string): Promise<void> {
  await withRegistry(parts, async () => {
    const isRegistered = (await listWorktrees(parts.git, parts.place)).some((entry) => entry.path === path);
    if (isRegistered) await pruneWorktree(parts.git, parts.place, path);
  });
}

/** With all that is in it. */
export async function removeEntry(parts: Parts, path: string): Promise<void> {
  await withRegistry(parts, async () => {
    const isRegistered = (await listWorktrees(parts.git, parts.place)).some((entry) => entry.path === path);
    if (isRegistered) await removeWorktree(parts.git, parts.place, path);
  });
}

/** False: there is work in it. */
export async function removeCleanEntry(parts: Parts, worktree: Place): Promise<boolean> {
  return withRegistry(parts, async () => (await removeCleanWorktree(parts.git, parts.place, worktree)).removed);
}

/**
 * A machine that stopped while git wrote an entry leaves one at which every later git dies. Only for a folder that we were
 * making: git names the entry after it, and the name is an id of ours.
 */
export async function mendEntry({ place }: Parts, path: string): Promise<void> {
  const folder = join(place.commonDir, 'worktrees', basename(path));
  const read = (name: string) => readFile(join(folder, name), 'utf8').catch(() => '');
  const written = await Promise.all(['commondir', 'gitdir', 'HEAD'].map(read));
  if (written.some((text) => text.trim() === '')) await rm(folder, { recursive: true, force: true });
}
