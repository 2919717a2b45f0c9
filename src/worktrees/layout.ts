import { createHash } from 'node:crypto';
import { lstat, mkdir, realpath } from 'node:fs/promises';
import { basename, isAbsolute, join, relative } from 'node:path';
import type { Checkout } from '../git/checkout.ts';
import { slugOf } from '../git/ref-name.ts';
import { ReefError } from '../protocol/errors.ts';

/** Where the worktrees of a repository lie, and the refs that keep their work. */
export interface Layout {
  /** A real path, outside the checkout. */
  folder: string;
  pathOf(id: string): string;
  /** Where gates see the files that they judge. */
  scratchOf(id: string): string;
  /** A folder is renamed to this before it is deleted. */
  trashOf(id: string): string;
}

interface Where {
  dataHome: string;
  root?: string;
}

/** The folder, whether or not a worktree was made yet. */
export function worktreesFolder(checkout: Checkout, { dataHome, root = join(dataHome, 'reef') }: Where): string {
  const hash = createHash('sha256').update(checkout.commonDir).digest('hex').slice(0, 8);
  return join(root, `${slugOf(basename(checkout.toplevel))}-${hash}`);
}

/** Outside the checkout: inside, the user's test runner would run the copies, and they would use its `node_modules`. */
export async function layoutOf(checkout: Checkout, where: Where): Promise<Layout> {
  const wanted = worktreesFolder(checkout, where);
  refuseInside(checkout, wanted);
  await mkdir(wanted, { recursive: true, mode: 0o700 });
  const folder = await realpath(wanted);
  refuseInside(checkout, folder);
  return {
    folder,
    pathOf: (id) => join(folder, id),
    scratchOf: (id) => join(folder, `${SCRATCH}${id}`),
    trashOf: (id) => join(folder, '.trash', id),
  };
}

function refuseInside({ toplevel, commonDir }: Checkout, folder: string): void {
  const isBelow = (root: string) => {
    const path = relative(root, folder);
    return path === '' || (!path.startsWith('..') && !isAbsolute(path));
  };
  if (isAbsolute(folder) && !isBelow(toplevel) && !isBelow(commonDir)) return;
  throw new ReefError('config_invalid', `worktrees.root: ${folder} must be absolute and outside ${toplevel}.`);
}

const SCRATCH = 'scratch-';

/** Whether a folder with this name is a checkout for gates. */
export function isScratch(name: string): boolean {
  return name.startsWith(SCRATCH);
}

/** Refs of a worktree. None is on its branch, which belongs to the user and the agent. */
export const refs = {
  /** Written by the radar at any time. */
  capture: (id: string) => `refs/reef/captures/${id}`,
  /** Written by the one operation under way. */
  work: (id: string) => `refs/reef/work/${id}`,
  /** Written by a run before and after its gates. */
  tree: (id: string) => `refs/reef/trees/${id}`,
  held: (id: string) => `refs/reef/held/${id}`,
  discarded: (id: string) => `refs/reef/discarded/${id}`,
  /** A merge that waits for its target. */
  accepted: (id: string) => `refs/reef/accepted/${id}`,
  archive: (id: string) => `refs/reef/archive/${id}`,
  /** What was pushed to a remote last; the next push is made on top of it. */
  pushed: (id: string) => `refs/reef/pushed/${id}`,
  branch: (name: string) => `refs/heads/${name}`,
};

/** Captures that nobody needs once the worktree is gone. */
export function passing(id: string): string[] {
  return [refs.capture(id), refs.work(id), refs.tree(id)];
}

export async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return false;
      throw error;
    },
  );
}
