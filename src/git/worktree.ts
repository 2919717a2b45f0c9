import { lstat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { ReefError } from '../protocol/errors.ts';
import type { Checkout } from './checkout.ts';
import type { Git } from './git-command.ts';
import { nulFields } from './nul-fields.ts';
import { checkBranch, checkOid, type Oid } from './ref-name.ts';
import { readStatus } from './status.ts';

export interface WorktreeEntry {
  path: string;
  /** Full name; absent when detached. */
  branch?: string;
  isBare: boolean;
  /** Why git thinks it is gone. */
  prunable?: string;
}

const CHECKOUT_MS = 600_000;

/** Every registered worktree, the main one first, whoever made it. */
export async function listWorktrees(git: Git, checkout: Checkout): Promise<WorktreeEntry[]> {
  const { stdout } = await git.call(checkout, ['worktree', 'list', '--porcelain', '-z']);
  const entries: WorktreeEntry[] = [];
  for (const field of nulFields(stdout)) {
    const line = field.toString('utf8');
    const space = line.indexOf(' ');
    const [label, value] = space === -1 ? [line, ''] : [line.slice(0, space), line.slice(space + 1)];
    if (label === 'worktree') entries.push({ path: value, isBare: false });
    const entry = entries.at(-1);
    if (entry && (label === 'branch' || label === 'prunable')) entry[label] = value;
    if (entry && label === 'bare') entry.isBare = true;
  }
  return entries;
}

export interface NewWorktree {
  /** Absolute, and nothing there. */
  path: string;
  commit: Oid;
  /** Absent: on no branch. */
  branch?: { name: string; isNew: boolean };
  /** Why it is locked. Git's own clean-up leaves locked worktrees alone. */
  reason: string;
}

/** Registers a locked worktree without its files. After a kill, it and its branch may be half made. */
export async function registerWorktree(git: Git, checkout: Checkout, wanted: NewWorktree): Promise<Checkout> {
  const [path, commit, { branch }] = [checkPath(wanted.path), checkOid(wanted.commit), wanted];
  const how = branch === undefined ? ['--detach'] : branch.isNew ? ['--no-track', '-b', checkBranch(branch.name)] : [];
  const from = branch && !branch.isNew ? checkBranch(branch.name) : commit;
  const lock = ['--lock', `--reason=${oneLine(wanted.reason)}`];
  const args = ['worktree', 'add', '--quiet', '--no-checkout', '--no-guess-remote', ...lock, ...how];
  await git.call(checkout, [...args, '--end-of-options', path, from]);
  return git.locate(path);
}

/** Writes the files of a registered worktree, or makes them those of the commit; what is not tracked stays. */
export async function fillWorktree(git: Git, worktree: Checkout, commit?: Oid): Promise<void> {
  const args = ['reset', '--hard', '--quiet', '--no-recurse-submodules'];
  const to = commit === undefined ? [] : [checkOid(commit)];
  await git.call(worktree, [...args, ...to], { timeoutMs: CHECKOUT_MS });
}

type Removed = { removed: true } | { removed: false; dirty: string[] };

/** Removes a worktree without changes of its own. We look ourselves: git's check would run inside submodules. */
export async function removeCleanWorktree(git: Git, checkout: Checkout, worktree: Checkout): Promise<Removed> {
  const dirty = (await readStatus(git, worktree)).map((entry) => entry.path);
  if (dirty.length > 0) return { removed: false, dirty };
  await removeWorktree(git, checkout, worktree.toplevel);
  return { removed: true };
}

/** Removes a worktree with all that is in it, locked or not: what was worth keeping has been captured. */
export async function removeWorktree(git: Git, checkout: Checkout, path: string): Promise<void> {
  const args = ['worktree', 'remove', '--force', '--force', '--end-of-options', checkPath(path)];
  await git.call(checkout, args, { timeoutMs: CHECKOUT_MS });
}

/** Forgets one worktree whose folder is gone. Git's own `prune` would forget other people's as well. */
export async function pruneWorktree(git: Git, checkout: Checkout, path: string): Promise<void> {
  const isThere = await lstat(checkPath(path)).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code !== 'ENOENT' && error.code !== 'ENOTDIR',
  );
  if (isThere) throw new ReefError('bad_request', `${path} still exists: remove it instead of forgetting it.`);
  await removeWorktree(git, checkout, path);
}

/** Git takes a relative word for the end of a path: only an absolute path names one worktree. */
function checkPath(path: string): string {
  if (!isAbsolute(path) || /[\p{Cc}\p{Cs}]/u.test(path)) {
    throw new ReefError('ref_invalid', `The path ${JSON.stringify(path.slice(0, 200))} is not absolute and plain.`);
  }
  return path;
}

function oneLine(reason: string): string {
  return reason.replace(/\p{Cc}+/gu, ' ').trim();
}
