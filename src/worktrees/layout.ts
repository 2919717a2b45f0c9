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
  /** The merged tree of an accept, for its gates. */
  scratchOf(id: string): string;
  /** What a folder is renamed to before it is deleted: in here nothing is worth keeping. */
  trashOf(id: string): string;
}

interface Where {
  dataHome: string;
  root?: string;
}

/** Where they lie, whether or not any was made yet. */
export function worktreesFolder(checkout: Checkout, { dataHome, root = join(dataHome, 'reef') }: Where): string {
  const hash = createHash('sha256').update(checkout.commonDir).digest('hex').slice(0, 8);
  return join(root, `${slugOf(basename(checkout.toplevel))}-${hash}`);
}

/**
 * `<data home>/reef/<repository>-<hash>`: below the checkout the user's own test runner would run the copies, and they
 * would borrow its `node_modules`. `root` is the user's `worktrees.root`.
 */
export async function layoutOf(checkout: Checkout, where: Where): Promise<Layout> {
  const wanted = worktreesFolder(checkout, where);
  refuseInside(checkout, wanted);
  await mkdir(wanted, { recursive: true, mode: 0o700 });
  const folder = await realpath(wanted);
  refuseInside(checkout, folder);
  return {
    folder,
    pathOf: (id) => join(folder, id),
    scratchOf: (id) => join(folder, `scratch-${id}`),
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

/** Refs of a worktree. None is on its branch: what Reef keeps is not what the user or an agent committed. */
export const refs = {
  /** Of the radar, which looks at any time. */
  capture: (id: string) => `refs/reef/captures/${id}`,
  /** Of whatever is being done to the worktree, which is one thing at a time. */
  work: (id: string) => `refs/reef/work/${id}`,
  /** Of a run, before and after its gates. */
  tree: (id: string) => `refs/reef/trees/${id}`,
  held: (id: string) => `refs/reef/held/${id}`,
  discarded: (id: string) => `refs/reef/discarded/${id}`,
  /** A merge that waits for its target. */
  accepted: (id: string) => `refs/reef/accepted/${id}`,
  archive: (id: string) => `refs/reef/archive/${id}`,
  branch: (name: string) => `refs/heads/${name}`,
};

/** Captures that have done their service when the worktree is gone. */
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
