import type { Git } from '../../git/git-command.ts';
import type { Place } from '../../git/place.ts';
import type { Oid } from '../../git/ref-name.ts';
import { findCommit, readHead, readRef } from '../../git/repository.ts';
import { ReefError } from '../../protocol/errors.ts';
import { refs } from '../layout.ts';
import type { Parts } from '../parts.ts';

const LEAST_FREE = 1024 ** 3;

export interface Base {
  /** Empty: no branch to merge back into. */
  branch: string;
  commit: Oid;
}

/** Where a task starts: a local branch by name, any other commit, or what the checkout stands on. */
export async function findBase(git: Git, place: Place, wanted?: string): Promise<Base> {
  const head = await readHead(git, place);
  if (wanted === undefined || wanted === 'HEAD') {
    return { branch: head.branch?.replace(/^refs\/heads\//, '') ?? '', commit: head.commit };
  }
  const branch = wanted.replace(/^refs\/heads\//, '');
  const commit = await readRef(git, place, refs.branch(branch)).catch(() => undefined);
  if (commit !== undefined) return { branch, commit };
  const found = await findCommit(git, place, wanted);
  if (found === undefined) throw new ReefError('ref_invalid', `There is no branch or commit ${wanted}.`);
  return { branch: '', commit: found };
}

/** The newest commit of the base: a task that waited starts from what was merged meanwhile (T-23). */
export async function currentTip(git: Git, place: Place, base: Base): Promise<Oid> {
  const tip = base.branch === '' ? undefined : await readRef(git, place, refs.branch(base.branch));
  return tip ?? base.commit;
}

/** Refuses before any change: less than 1 GiB free, or less than twice what the checkout takes (T-02). */
export async function refuseLowDisk(parts: Parts, commit: Oid): Promise<void> {
  const free = await parts.freeBytes(parts.layout.folder);
  const needed = Math.max(LEAST_FREE, 2 * (await checkoutBytes(parts.git, parts.place, commit)));
  if (free >= needed) return;
  const [has, wants] = [free, needed].map((bytes) => `${Math.floor(bytes / 1024 ** 2)} MiB`);
  throw new ReefError('disk_low', `${parts.layout.folder} has ${has} free; a worktree needs ${wants}.`, {
    details: { free, needed },
  });
}

async function checkoutBytes(git: Git, place: Place, commit: Oid): Promise<number> {
  const args = ['ls-tree', '-r', '--format=%(objectsize)', '--full-tree', '--end-of-options', commit];
  const { stdout } = await git.call(place, args, { maxBytes: 64 * 1024 * 1024 });
  // Submodules have no size and print `-`.
  return stdout
    .toString('latin1')
    .split('\n')
    .reduce((sum, line) => sum + (Number(line) || 0), 0);
}
