import { copyFile, lstat, mkdtemp, rm, stat, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isTemporary } from '../base/atomic-file.ts';
import { ReefError } from '../protocol/errors.ts';
import { checkHistory } from './check-history.ts';
import type { Checkout } from './checkout.ts';
import { commitTree } from './commit.ts';
import type { Git } from './git-command.ts';
import { nulFields } from './nul-fields.ts';
import { checkOid, checkRef, type Oid } from './ref-name.ts';
import { setRef } from './refs.ts';
import { findCommit, operationUnderWay, readRef } from './repository.ts';

export interface Capture {
  commit: Oid;
  /** All files but ignored ones. */
  tree: Oid;
  /** What was staged; absent with conflicts in the index. */
  staged?: Oid;
  /** HEAD at that time. */
  parent: Oid;
}

interface CaptureOptions {
  /** Below `refs/reef/`; what it held before is replaced. */
  ref: string;
  message: string;
  /** A second capture of the same state at the same time is the same commit. */
  at: Date;
  maxBytes?: number;
}

const MAX_BYTES = 2 * 1024 ** 3;
const WRITE_MS = 600_000;
const LISTING_BYTES = 192 * 1024 * 1024;
const AUTHOR = { name: 'Reef', email: 'reef@localhost.invalid' };

/**
 * Keeps the files of a checkout, all but ignored ones, as a commit. It works on a copy of the index: index, branch and
 * files stay as they are. It refuses a merge or rebase under way, a repository inside, more than 2 GiB of
 * changes, and a history or an index that no checkout could be made of.
 */
export async function capture(git: Git, checkout: Checkout, options: CaptureOptions): Promise<Capture> {
  const ref = checkRef(options.ref);
  if (!ref.startsWith('refs/reef/'))
    throw new ReefError('ref_invalid', `A capture is kept below refs/reef/, not on ${ref}.`);
  const operation = await operationUnderWay(checkout);
  if (operation) {
    const message = `A ${operation} is under way in ${checkout.toplevel}.`;
    throw new ReefError('repo_busy', message, { details: { operation } });
  }
  const parent = await findCommit(git, checkout, 'HEAD');
  if (parent === undefined) throw new ReefError('repo_empty', `${checkout.toplevel} has no commit yet.`);
  const { tree, staged } = await withIndexCopy(checkout, async (indexFile) => {
    const index = await writeStaged(git, checkout, indexFile);
    await clearFlags(git, checkout, indexFile);
    const hasTaken = await takeFiles(git, checkout, { indexFile, maxBytes: options.maxBytes ?? MAX_BYTES });
    return { staged: index, tree: hasTaken || !index ? await writeIndex(git, checkout, indexFile) : index };
  });
  const signature = { ...AUTHOR, at: options.at };
  const commit = await commitTree(git, checkout, { tree, parents: [parent], message: options.message, signature });
  await checkHistory(git, checkout, commit);
  const last = (await readRef(git, checkout, ref)) ?? null;
  if (!(await setRef(git, checkout, { ref, to: commit, from: last }))) {
    throw new ReefError('git_locked', `${ref} was moved by another capture.`);
  }
  return { commit, tree, parent, ...(staged !== undefined && { staged }) };
}

async function withIndexCopy<T>(checkout: Checkout, use: (indexFile: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'reef-index-'));
  try {
    const copy = join(folder, 'index');
    await copyIndex(join(checkout.gitDir, 'index'), copy);
    return await use(copy);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Git trusts an entry that is older than its index file: a copy that looked younger than the original would make an edit
 * of the same moment look clean. Without an index nothing is tracked, and nothing is copied.
 */
async function copyIndex(index: string, copy: string): Promise<void> {
  try {
    const seconds = Math.floor((await stat(index)).mtimeMs / 1000);
    await copyFile(index, copy);
    await utimes(copy, seconds, seconds);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

/**
 * `assume-unchanged` and `skip-worktree` tell git to believe the index and not the files. An agent writes its own index, so
 * it could bring in a file that it may not make. Only the repository's configuration, which it cannot write, makes a
 * checkout sparse; there, a file that is left out stays as it was.
 */
async function clearFlags(git: Git, checkout: Checkout, indexFile: string): Promise<void> {
  const { stdout } = await git.call(checkout, ['ls-files', '-v', '-z'], { indexFile, maxBytes: LISTING_BYTES });
  const flagged = [...nulFields(stdout)].filter(([tag]) => tag !== TRACKED && tag !== UNMERGED);
  if (flagged.length === 0) return;
  const isSparse = await readsSparse(git, checkout);
  const isLeftOut = async (path: Buffer) =>
    isSparse && (await lstat(Buffer.concat([Buffer.from(`${checkout.toplevel}/`), path])).catch(() => null)) === null;
  const paths: Buffer[] = [];
  for (const field of flagged) if (!(await isLeftOut(field.subarray(2)))) paths.push(field.subarray(2), Buffer.of(0));
  const input = Buffer.concat(paths);
  for (const flag of ['--no-skip-worktree', '--no-assume-unchanged']) {
    await git.call(checkout, ['update-index', '-z', flag, '--stdin'], { indexFile, input, timeoutMs: WRITE_MS });
  }
}

const [TRACKED, UNMERGED] = Buffer.from('HM');

async function readsSparse(git: Git, checkout: Checkout): Promise<boolean> {
  const args = ['config', '--type=bool', '--get', 'core.sparseCheckout'];
  return (await git.call(checkout, args, { okCodes: [0, 1] })).stdout.toString('latin1').trim() === 'true';
}

/** Stages changed and untracked files without entering submodules. False when there are none. */
async function takeFiles(
  git: Git,
  checkout: Checkout,
  { indexFile, maxBytes }: { indexFile: string; maxBytes: number },
): Promise<boolean> {
  const list = async (...which: string[]) =>
    (await git.call(checkout, ['ls-files', '-z', ...which], { indexFile, maxBytes: LISTING_BYTES })).stdout;
  const [tracked, others] = await Promise.all([list('--modified'), list('--others', '--exclude-standard')]);
  const untracked = [...nulFields(others)].filter((path) => !isTemporary(path.toString('latin1')));
  const nested = untracked.filter((path) => path.at(-1) === SLASH).map((path) => path.toString('utf8'));
  if (nested.length > 0) {
    const names = nested.slice(0, 10).join(', ');
    throw new ReefError('nested_repository', `There are repositories inside the checkout: ${names}.`, {
      details: { nested },
    });
  }
  // Tracked ones first: a file that became a folder must go before what is in the folder comes.
  const input = Buffer.concat([tracked, ...untracked.flatMap((path) => [path, NUL])]);
  if (input.length === 0) return false;
  await refuseTooLarge(checkout, nulFields(input), maxBytes);
  const update = ['update-index', '-z', '--add', '--remove', '--replace', '--stdin'];
  await git.call(checkout, update, { indexFile, input, timeoutMs: WRITE_MS });
  return true;
}

const SLASH = 0x2f;
const NUL = Buffer.of(0);

async function refuseTooLarge({ toplevel }: Checkout, paths: Iterable<Buffer>, maxBytes: number): Promise<void> {
  const folder = Buffer.from(`${toplevel}/`);
  let total = 0;
  for (const path of paths) {
    const stat = await lstat(Buffer.concat([folder, path])).catch(() => undefined);
    total += stat?.size ?? 0;
    if (total > maxBytes) {
      throw new ReefError('capture_too_large', `The changes in ${toplevel} are more than ${maxBytes} bytes.`);
    }
  }
}

/** An index with conflicts, as `stash pop` leaves them, is no tree. The files are kept all the same. */
async function writeStaged(git: Git, checkout: Checkout, indexFile: string): Promise<Oid | undefined> {
  const { stdout } = await git.call(checkout, ['ls-files', '-z', '--unmerged'], { indexFile });
  return stdout.length === 0 ? writeIndex(git, checkout, indexFile) : undefined;
}

async function writeIndex(git: Git, checkout: Checkout, indexFile: string): Promise<Oid> {
  const { stdout } = await git.call(checkout, ['write-tree'], { indexFile, timeoutMs: WRITE_MS });
  return checkOid(stdout.toString('latin1').trim());
}
