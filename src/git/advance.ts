import { lstat, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { ReefError } from '../protocol/errors.ts';
import { type Checkout, readCheckout } from './checkout.ts';
import { diffTrees } from './diff.ts';
import type { Git } from './git-command.ts';
import { checkBranch, checkOid, type Oid } from './ref-name.ts';
import { setRef } from './refs.ts';
import { branchUnderRebase, isAncestor, operationUnderWay, readHead, readRef } from './repository.ts';
import { readStatus } from './status.ts';
import { listWorktrees } from './worktree.ts';

interface Advance {
  branch: string;
  from: Oid;
  to: Oid;
}

export type Advanced =
  | { status: 'advanced' }
  /** The branch is not where it was. */
  | { status: 'moved'; commit: Oid | undefined }
  /** `to` does not contain `from`. */
  | { status: 'diverged' }
  /** Checked out where there is work that is not ours to touch. */
  | { status: 'dirty'; checkout: string; files: string[] };

const CHECKOUT_MS = 600_000;

/**
 * Moves a branch forward, and with it its checkout, which would look reverted otherwise. A checkout with changes, or with
 * an untracked file that git would overwrite, ignored or not, is not touched.
 */
export async function advanceBranch(git: Git, checkout: Checkout, { branch, from, to }: Advance): Promise<Advanced> {
  const ref = `refs/heads/${checkBranch(branch)}`;
  const [old, next] = [checkOid(from), checkOid(to)];
  const at = await readRef(git, checkout, ref);
  if (at !== old) return { status: 'moved', commit: at };
  if (!(await isAncestor(git, checkout, { of: next, commit: old }))) return { status: 'diverged' };
  const checkouts = await checkoutsOf(git, checkout, ref);
  const [only] = checkouts;
  if (only === undefined) {
    if (await setRef(git, checkout, { ref, from: old, to: next })) return { status: 'advanced' };
    return { status: 'moved', commit: await readRef(git, checkout, ref) };
  }
  // We can take only one checkout along: a second one, or one on a disk that is away, would look reverted.
  const target = checkouts.length === 1 ? await checkoutAt(only) : undefined;
  if (target?.commonDir !== checkout.commonDir) return { status: 'dirty', checkout: only, files: [] };
  return forward(git, target, { branch: ref, from: old, to: next });
}

/** Where a branch is checked out, or will be again when the rebase there ends. */
async function checkoutsOf(git: Git, checkout: Checkout, ref: string): Promise<string[]> {
  const found: string[] = [];
  for (const { path, branch, isBare, prunable } of await listWorktrees(git, checkout)) {
    if (isBare || prunable !== undefined) continue;
    const rebased = branch === undefined ? await checkoutAt(path) : undefined;
    if (branch === ref || (rebased && (await branchUnderRebase(rebased)) === ref)) found.push(path);
  }
  return found;
}

/** A locked worktree may lie on a disk that is not there. */
function checkoutAt(path: string): Promise<Checkout | undefined> {
  return realpath(path)
    .then(readCheckout)
    .catch(() => undefined);
}

async function forward(git: Git, checkout: Checkout, { branch, from, to }: Advance): Promise<Advanced> {
  const dirty = (files: string[]): Advanced => ({ status: 'dirty', checkout: checkout.toplevel, files });
  if (await operationUnderWay(checkout)) return dirty([]);
  const changed = (await readStatus(git, checkout)).filter(({ isUntracked }) => !isUntracked);
  if (changed.length > 0) return dirty(changed.map(({ path }) => path));
  const inTheWay = await untrackedInTheWay(git, checkout, { from, to });
  if (inTheWay.length > 0) return dirty(inTheWay);
  const head = await readHead(git, checkout);
  if (head.branch !== branch || head.commit !== from)
    return { status: 'moved', commit: await readRef(git, checkout, branch) };
  const args = ['merge', '--quiet', '--ff-only', '--no-overwrite-ignore', '--no-autostash', '--no-squash', '--commit'];
  const signing = ['--no-verify-signatures', '--no-gpg-sign', '--no-stat', '--no-edit'];
  try {
    await git.call(checkout, [...args, ...signing, '--end-of-options', to], { timeoutMs: CHECKOUT_MS });
  } catch (error) {
    const isRefusal =
      error instanceof ReefError &&
      error.code === 'git_failed' &&
      / would be (overwritten|lost|removed)/.test(error.message);
    // Git lists the files in its way one to a line, after a tab.
    if (isRefusal) return dirty([...error.message.matchAll(/(?<=^\t).+$/gm)].map(([name]) => name));
    throw error;
  }
  return { status: 'advanced' };
}

/**
 * Untracked files where new ones are to be. Git's merge refuses them only after it has written `ORIG_HEAD`, and its
 * `read-tree` overwrites ignored ones. Folders are left to git. A name that only changes its case is not in the way.
 */
async function untrackedInTheWay(git: Git, checkout: Checkout, sides: Pick<Advance, 'from' | 'to'>): Promise<string[]> {
  const changes = await diffTrees(git, checkout, sides);
  const fold = (path: string) => path.normalize('NFC').toLowerCase();
  const leaving = new Set(changes.flatMap(({ status, path, from }) => from ?? (status === 'D' ? path : [])).map(fold));
  const found: string[] = [];
  for (const { status, path } of changes) {
    if ((status !== 'A' && status !== 'R') || leaving.has(fold(path))) continue;
    const stat = await lstat(join(checkout.toplevel, path)).catch(() => undefined);
    if (stat && !stat.isDirectory()) found.push(path);
  }
  return found;
}

interface Restore {
  /** The files to be. */
  tree: Oid;
  /** The index to be; what differs from it shows as not staged. Without one, nothing is staged. */
  staged?: Oid;
}

/** Puts the files of a capture into a clean checkout, so that its `status` is that of the captured one. */
export async function restoreFiles(git: Git, checkout: Checkout, { tree, staged }: Restore): Promise<void> {
  const [files, index] = [checkOid(tree), staged === undefined ? 'HEAD' : checkOid(staged)];
  const dirty = (await readStatus(git, checkout)).map(({ path }) => path);
  const { commit } = await readHead(git, checkout);
  dirty.push(...(await untrackedInTheWay(git, checkout, { from: commit, to: files })));
  if (dirty.length > 0) {
    throw new ReefError('repo_busy', `${checkout.toplevel} has files of its own.`, { details: { files: dirty } });
  }
  const options = { timeoutMs: CHECKOUT_MS };
  await git.call(checkout, ['read-tree', '-m', '-u', commit, files], options);
  await git.call(checkout, ['read-tree', index], options);
  // Refreshes the times only. Differences, which we want here, make it exit with 1.
  await git.call(checkout, ['update-index', '-q', '--refresh'], { ...options, okCodes: [0, 1] });
}
