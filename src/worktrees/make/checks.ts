import type { Checkout } from '../../git/checkout.ts';
import type { Git } from '../../git/git-command.ts';
import type { Oid } from '../../git/ref-name.ts';
import { findCommit, readHead, readRef } from '../../git/repository.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Deps } from '../deps.ts';
import { refs } from '../layout.ts';

const LEAST_FREE = 1024 ** 3;

export interface Base {
  /** Empty: no branch to merge back into. */
  branch: string;
  commit: Oid;
}

/** Where a task starts: a local branch, another commit, or what the checkout stands on. */
export async function findBase(git: Git, checkout: Checkout, wanted?: string): Promise<Base> {
  const head = await readHead(git, checkout);
  if (wanted === undefined || wanted === 'HEAD') {
    return { branch: head.branch?.replace(/^refs\/heads\//, '') ?? '', commit: head.commit };
  }
  const branch = wanted.replace(/^refs\/heads\//, '');
  const commit = await readRef(git, checkout, refs.branch(branch)).catch(() => undefined);
  if (commit !== undefined) return { branch, commit };
  const found = await findCommit(git, checkout, wanted);
  if (found === undefined) throw new ReefError('ref_invalid', `There is no branch or commit ${wanted}.`);
  return { branch: '', commit: found };
}

/** The same, for a person or agent that stands in this folder: what is checked out there. */
export async function findBaseAt(
  { git, checkout }: Pick<Deps, 'git' | 'checkout'>,
  { cwd, base }: { cwd?: string | undefined; base?: string | undefined },
): Promise<Base> {
  const here = cwd === undefined ? checkout : await git.locate(cwd);
  if (here.commonDir === checkout.commonDir) return findBase(git, here, base);
  throw new ReefError('bad_request', `cwd: ${cwd} is a checkout of another repository than ${checkout.toplevel}`);
}

/** The newest commit of the base: a task that waited starts from what was merged meanwhile. */
export async function currentTip(git: Git, checkout: Checkout, base: Base): Promise<Oid> {
  const tip = base.branch === '' ? undefined : await readRef(git, checkout, refs.branch(base.branch));
  return tip ?? base.commit;
}

/** Refuses with less than 1 GiB free, or less than twice the size of the checkout. */
export async function refuseLowDisk(deps: Deps, commit: Oid): Promise<void> {
  const free = await deps.freeBytes(deps.layout.folder);
  const needed = Math.max(LEAST_FREE, 2 * (await checkoutBytes(deps.git, deps.checkout, commit)));
  if (free >= needed) return;
  const [has, wants] = [free, needed].map((bytes) => `${Math.floor(bytes / 1024 ** 2)} MiB`);
  throw new ReefError('disk_low', `${deps.layout.folder} has ${has} free; a worktree needs ${wants}.`, {
    details: { free, needed },
  });
}

async function checkoutBytes(git: Git, checkout: Checkout, commit: Oid): Promise<number> {
  const args = ['ls-tree', '-r', '--format=%(objectsize)', '--full-tree', '--end-of-options', commit];
  const { stdout } = await git.call(checkout, args, { maxBytes: 64 * 1024 * 1024 });
  // Submodules have no size and print `-`.
  return stdout
    .toString('latin1')
    .split('\n')
    .reduce((sum, line) => sum + (Number(line) || 0), 0);
}
