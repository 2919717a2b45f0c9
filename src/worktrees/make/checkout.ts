import { lstat, opendir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { Place } from '../../git/place.ts';
import type { Oid } from '../../git/ref-name.ts';
import { readRef } from '../../git/repository.ts';
import { readStatus } from '../../git/status.ts';
import { listTree } from '../../git/tree.ts';
import { ReefError } from '../../protocol/errors.ts';
import { moveToTrash } from '../keep/trash.ts';
import { refs } from '../layout.ts';
import { openWorktree } from '../open-worktree.ts';
import type { Parts } from '../parts.ts';
import { addEntry, forgetEntry, listRegistered } from '../registry.ts';

interface Wanted {
  id: string;
  path: string;
  branch: string;
  /** Where the branch is to stand. */
  commit: Oid;
  /** Further trees whose files a half-made folder may hold. */
  trees: readonly Oid[];
}

/**
 * A checkout of the branch at the commit. Repeated after a kill it completes what it finds: a branch without folder, a
 * registration without folder, a folder half filled. A folder with a file we did not put there is not touched (T-43).
 */
export async function ensureCheckout(parts: Parts, wanted: Wanted): Promise<Place> {
  const { path } = wanted;
  const isThere = await exists(path);
  const entry = (await listRegistered(parts)).find((each) => each.path === path);
  if (isThere && entry) {
    const whole = await wholeCheckout(parts, wanted);
    if (whole) return whole;
  }
  if (isThere) {
    await refuseStrangers(parts, wanted);
    await moveToTrash(parts, path);
  }
  if (entry) await forgetEntry(parts, path);
  return add(parts, wanted);
}

async function add(parts: Parts, { id, path, branch, commit }: Wanted): Promise<Place> {
  const at = await readRef(parts.git, parts.place, refs.branch(branch));
  if (at !== undefined && at !== commit) {
    throw new ReefError('worktree_state', `The branch ${branch} is not where it was left.`, {
      details: { branch, at },
    });
  }
  return addEntry(parts, { path, commit, reason: `reef ${id}`, branch: { name: branch, isNew: at === undefined } });
}

/** The checkout, if it is complete and nobody has changed it. */
async function wholeCheckout(parts: Parts, { path, branch, commit }: Wanted): Promise<Place | undefined> {
  try {
    const { git } = parts;
    const place = await openWorktree(parts, path);
    const head = (await git.call(place, ['symbolic-ref', '--quiet', 'HEAD'])).stdout.toString('utf8').trim();
    const at = await readRef(git, place, refs.branch(branch));
    if (head !== refs.branch(branch) || at !== commit) return undefined;
    return (await readStatus(git, place)).length === 0 ? place : undefined;
  } catch (error) {
    if (error instanceof ReefError) return undefined;
    throw error;
  }
}

/** Nobody was told of a folder that is still being made: a file that is in none of its trees is not ours to remove. */
async function refuseStrangers({ git, place }: Parts, { path, commit, trees }: Wanted): Promise<void> {
  const own = new Set(['.git']);
  for (const tree of [commit, ...trees]) for await (const entry of listTree(git, place, tree)) own.add(entry.path);
  for await (const file of filesBelow(path)) {
    const name = relative(path, file);
    if (own.has(name)) continue;
    throw new ReefError('worktree_state', `${path} is half made and holds ${name}, which Reef did not put there.`);
  }
}

async function* filesBelow(folder: string): AsyncGenerator<string> {
  for await (const entry of await opendir(folder)) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* filesBelow(path);
    else yield path;
  }
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
