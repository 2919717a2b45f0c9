import { lstat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { ReefError } from '../protocol/errors.ts';
import type { Git } from './git-command.ts';
import { nulFields } from './nul-fields.ts';
import type { Place } from './place.ts';
import { checkBranch, checkOid, type Oid } from './ref-name.ts';
import { readStatus } from './status.ts';

export interface WorktreeEntry {
  path: string;
  commit?: Oid;
  /** Full name; absent when detached. */
  branch?: string;
  isBare: boolean;
  /** The reason, maybe empty. */
  locked?: string;
  /** Why git thinks it is gone. */
  prunable?: string;
}

const CHECKOUT_MS = 600_000;

/** Every registered worktree, the main one first, whoever made it. */
export async function listWorktrees(git: Git, place: Place): Promise<WorktreeEntry[]> {
  const { stdout } = await git.call(place, ['worktree', 'list', '--porcelain', '-z']);
  const entries: WorktreeEntry[] = [];
  for (const field of nulFields(stdout)) {
    const line = field.toString('utf8');
    const space = line.indexOf(' ');
    const [label, value] = space === -1 ? [line, ''] : [line.slice(0, space), line.slice(space + 1)];
    if (label === 'worktree') entries.push({ path: value, isBare: false });
    const entry = entries.at(-1);
    if (entry) Object.assign(entry, attributeOf(label, value));
  }
  return entries;
}

function attributeOf(label: string, value: string): Partial<WorktreeEntry> {
  if (label === 'HEAD') return /^0+$/.test(value) ? {} : { commit: value };
  if (label === 'branch' || label === 'locked' || label === 'prunable') return { [label]: value };
  return label === 'bare' ? { isBare: true } : {};
}

interface NewWorktree {
  /** Absolute, and nothing there. */
  path: string;
  branch: string;
  commit: Oid;
  /** Why it is locked: git's own clean-up leaves locked ones alone. */
  reason: string;
}

/** Makes a branch and a locked worktree on it. Killed in between, both may be half made (T-43, Q-51). */
export async function addWorktree(git: Git, place: Place, wanted: NewWorktree): Promise<Place> {
  const [path, branch, commit] = [checkPath(wanted.path), checkBranch(wanted.branch), checkOid(wanted.commit)];
  const lock = ['--lock', `--reason=${oneLine(wanted.reason)}`];
  const args = ['worktree', 'add', '--quiet', '--no-track', '--no-guess-remote', ...lock, '-b', branch];
  await git.call(place, [...args, '--end-of-options', path, commit], { timeoutMs: CHECKOUT_MS });
  return git.locate(path);
}

type Removed = { removed: true } | { removed: false; dirty: string[] };

/**
 * Removes a worktree that holds nothing but what its commit has and what is ignored. Git's own check would enter
 * submodules with their configuration in effect, so we look ourselves and then tell git not to.
 */
export async function removeCleanWorktree(git: Git, place: Place, worktree: Place): Promise<Removed> {
  const dirty = (await readStatus(git, worktree)).map((entry) => entry.path);
  if (dirty.length > 0) return { removed: false, dirty };
  await removeWorktree(git, place, worktree.toplevel);
  return { removed: true };
}

/** Removes a worktree with all that is in it, locked or not: what was worth keeping has been captured. */
export async function removeWorktree(git: Git, place: Place, path: string): Promise<void> {
  const args = ['worktree', 'remove', '--force', '--force', '--end-of-options', checkPath(path)];
  await git.call(place, args, { timeoutMs: CHECKOUT_MS });
}

/** Forgets one worktree whose folder is gone. Git's `prune` would forget those of other people as well (T-40). */
export async function pruneWorktree(git: Git, place: Place, path: string): Promise<void> {
  const isThere = await lstat(checkPath(path)).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code !== 'ENOENT' && error.code !== 'ENOTDIR',
  );
  if (isThere) throw new ReefError('bad_request', `${path} still exists: it is to be removed, not forgotten.`);
  await removeWorktree(git, place, path);
}

export async function lockWorktree(git: Git, place: Place, { path, reason }: Pick<NewWorktree, 'path' | 'reason'>) {
  await git.call(place, ['worktree', 'lock', `--reason=${oneLine(reason)}`, '--end-of-options', checkPath(path)]);
}

export async function unlockWorktree(git: Git, place: Place, path: string): Promise<void> {
  await git.call(place, ['worktree', 'unlock', '--end-of-options', checkPath(path)]);
}

/** Moves a worktree, locked or not, to where nothing is yet. */
export async function moveWorktree(git: Git, place: Place, { from, to }: { from: string; to: string }): Promise<Place> {
  const paths = [checkPath(from), checkPath(to)];
  const args = ['worktree', 'move', '--force', '--force', '--end-of-options', ...paths];
  await git.call(place, args, { timeoutMs: CHECKOUT_MS });
  return git.locate(to);
}

/** Git takes a word that is no path for the end of one: only a whole path says which worktree is meant. */
function checkPath(path: string): string {
  if (!isAbsolute(path) || /[\p{Cc}\p{Cs}]/u.test(path)) {
    throw new ReefError('ref_invalid', `The path ${JSON.stringify(path.slice(0, 200))} is not absolute and plain.`);
  }
  return path;
}

function oneLine(reason: string): string {
  return reason.replace(/\p{Cc}+/gu, ' ').trim();
}
