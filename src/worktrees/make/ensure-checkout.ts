import { opendir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { Checkout } from '../../git/checkout.ts';
import type { Oid } from '../../git/ref-name.ts';
import { readRef } from '../../git/repository.ts';
import { readStatus } from '../../git/status.ts';
import { listTree } from '../../git/tree.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Deps } from '../deps.ts';
import { moveToTrash } from '../keep/trash.ts';
import { exists, refs } from '../layout.ts';
import { openWorktree } from '../open-worktree.ts';
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
 * registration without folder, a folder half filled. A folder with a file we did not put there is not touched.
 */
export async function ensureCheckout(deps: Deps, wanted: Wanted): Promise<Checkout> {
  const { path } = wanted;
  const isThere = await exists(path);
  const entry = (await listRegistered(deps)).find((each) => each.path === path);
  if (isThere && entry) {
    const whole = await wholeCheckout(deps, wanted);
    if (whole) return whole;
  }
  if (isThere) {
    await refuseStrangers(deps, wanted);
    await moveToTrash(deps, path);
  }
  if (entry) await forgetEntry(deps, path);
  return add(deps, wanted);
}

async function add(deps: Deps, { id, path, branch, commit }: Wanted): Promise<Checkout> {
  const at = await readRef(deps.git, deps.checkout, refs.branch(branch));
  if (at !== undefined && at !== commit) {
    throw new ReefError('worktree_state', `The branch ${branch} is not where it was left.`, {
      details: { branch, at },
    });
  }
  return addEntry(deps, { path, commit, reason: `reef ${id}`, branch: { name: branch, isNew: at === undefined } });
}

/** The checkout, if it is complete and nobody has changed it. */
async function wholeCheckout(deps: Deps, { path, branch, commit }: Wanted): Promise<Checkout | undefined> {
  try {
    const { git } = deps;
    const checkout = await openWorktree(deps, path);
    const head = (await git.call(checkout, ['symbolic-ref', '--quiet', 'HEAD'])).stdout.toString('utf8').trim();
    const at = await readRef(git, checkout, refs.branch(branch));
    if (head !== refs.branch(branch) || at !== commit) return undefined;
    return (await readStatus(git, checkout)).length === 0 ? checkout : undefined;
  } catch (error) {
    if (error instanceof ReefError) return undefined;
    throw error;
  }
}

/** Nobody was told of a folder that is still being made: a file that is in none of its trees is not ours to remove. */
async function refuseStrangers({ git, checkout }: Deps, { path, commit, trees }: Wanted): Promise<void> {
  const own = new Set(['.git']);
  for (const tree of [commit, ...trees]) for await (const entry of listTree(git, checkout, tree)) own.add(entry.path);
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
