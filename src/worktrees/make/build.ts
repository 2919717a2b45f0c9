import { opendir, readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { restoreFiles } from '../../git/advance.ts';
import type { Checkout } from '../../git/checkout.ts';
import { type Oid, worktreeBranch } from '../../git/ref-name.ts';
import { setRef } from '../../git/refs.ts';
import { readRef } from '../../git/repository.ts';
import { readStatus } from '../../git/status.ts';
import { listTree } from '../../git/tree.ts';
import { ReefError, toReefError } from '../../protocol/errors.ts';
import type { WorktreeStatus } from '../../protocol/worktrees.ts';
import type { Deps } from '../deps.ts';
import { findKept, type Kept } from '../keep/kept.ts';
import { moveToTrash } from '../keep/remove.ts';
import { exists, refs } from '../layout.ts';
import { type Intent, type StoredWorktree, without } from '../records.ts';
import { addEntry, forgetEntry, listRegistered, openWorktree, patiently, removeCleanEntry } from '../registry.ts';
import { runSetup } from '../scripts.ts';
import { currentTip, refuseLowDisk } from './checks.ts';
import { copyIncluded } from './include.ts';

const SUBMODULE = '160000';

type Creating = Extract<Intent, { kind: 'create' }>;

/** Makes the worktree of a record that is `creating`. Each step is recorded, so after a kill a repeat completes it. */
export async function build(deps: Deps, id: string): Promise<StoredWorktree> {
  const intent = creatingOf(deps.records.get(id));
  const kept = intent.keptOn === undefined ? undefined : await findKept(deps, intent.keptOn);
  if (intent.step === 'claimed') await makeCheckout(deps, await settle(deps, id, kept), kept);
  const row = deps.records.get(id);
  await copyRepositoryFiles(deps, row);
  const setup = await runSetup(deps, row);
  const submodules = await emptySubmodules(deps, row);
  await deps.at('create.set_up');
  const done = deps.records.move(id, ['creating'], (now) => ({
    ...without(now, 'intent', 'failure', 'keptOn', 'endedAt', 'submodules'),
    setup,
    ...(submodules.length > 0 && { submodules }),
    status: 'running',
  }));
  if (setup.state === 'failed') {
    deps.announce({ kind: 'setup_failed', worktreeId: id, message: setup.message ?? '' });
  }
  return done;
}

/** Git makes the folder of a submodule and leaves it empty; filling it may need the network, so that is for the set-up. */
async function emptySubmodules({ git, checkout }: Deps, { path, base }: StoredWorktree): Promise<string[]> {
  if (path === null || !(await exists(join(path, '.gitmodules')))) return [];
  const empty: string[] = [];
  for await (const entry of listTree(git, checkout, base.commit)) {
    if (entry.mode !== SUBMODULE) continue;
    const inside = await readdir(join(path, entry.path)).catch(() => []);
    if (inside.length === 0) empty.push(entry.path);
  }
  return empty;
}

function creatingOf(row: StoredWorktree): Creating {
  if (row.status === 'creating' && row.intent?.kind === 'create') return row.intent;
  throw new ReefError('worktree_state', `The worktree ${row.id} is ${row.status}, not being made.`);
}

/** Decides once where it lies and what it starts from; a repeat finds the decision. */
async function settle(deps: Deps, id: string, kept: Kept | undefined): Promise<StoredWorktree & { path: string }> {
  const { git, checkout, layout, ports, records } = deps;
  const row = records.get(id);
  if (row.path !== null) return { ...row, path: row.path };
  const base = { ...row.base, commit: kept ? row.base.commit : await currentTip(git, checkout, row.base) };
  const commit = kept?.head ?? base.commit;
  await refuseLowDisk(deps, commit);
  const portBase = ports.held(id) ?? (await ports.reserve(id, layout.folder));
  const branch = await freeBranch(deps, row, commit);
  const path = layout.pathOf(id);
  return { ...records.move(id, ['creating'], (now) => ({ ...now, base, branch, portBase, path })), path };
}

/** Its own name, unless the user moved a branch of that name: then another one. */
async function freeBranch({ git, checkout }: Deps, row: StoredWorktree, commit: Oid): Promise<string> {
  const names = [row.branch, ...Array.from({ length: 98 }, (_, n) => worktreeBranch(`${row.title} ${n + 2}`, row.id))];
  for (const name of names) {
    const at = await readRef(git, checkout, refs.branch(name));
    if (at === undefined || at === commit) return name;
  }
  throw new ReefError('ref_invalid', `Every name for the branch of ${row.title} is taken.`);
}

async function makeCheckout(deps: Deps, row: StoredWorktree & { path: string }, kept: Kept | undefined): Promise<void> {
  const { id, path, branch, base } = row;
  await deps.at('create.claimed');
  const trees = kept ? [kept.tree] : [];
  const wanted = { id, path, branch, commit: kept?.head ?? base.commit, trees };
  const worktree = await patiently(deps, () => ensureCheckout(deps, wanted));
  await deps.at('create.added');
  if (kept) {
    const { tree, staged } = kept;
    await restoreFiles(deps.git, worktree, { tree, ...(staged !== undefined && { staged }) });
  }
  deps.records.move(id, ['creating'], (now) => ({ ...now, intent: { ...creatingOf(now), step: 'made' } }));
  await deps.at('create.made');
}

/** What `.worktreeinclude` names. */
export async function copyRepositoryFiles(
  { git, checkout, items, log }: Deps,
  { id, path }: Pick<StoredWorktree, 'id' | 'path'>,
): Promise<void> {
  const patterns = await items.include?.();
  if (patterns === undefined || path === null) return;
  const { skipped } = await copyIncluded(git, checkout, { path, patterns });
  if (skipped.length > 0) log.warn('.worktreeinclude: not copied', { worktree: id, skipped: skipped.slice(0, 20) });
}

/**
 * Takes a failed creation back. Folder and branch go if nothing is in them; the record is what it was before, or `lost`.
 * A folder that git refuses to remove stays and is reported as a zombie.
 */
export async function abandon(deps: Deps, id: string, error: unknown): Promise<StoredWorktree> {
  const row = deps.records.get(id);
  const { code, message } = toReefError(error);
  const isGone = await removeHalfMade(deps, row);
  const status = before(row);
  if (status === 'lost' && isGone) await dropUntouchedBranch(deps, row);
  deps.ports.release(id);
  const after = deps.records.change(id, (now) => ({
    ...without(now, 'intent'),
    status,
    path: null,
    portBase: 0,
    failure: { code, message },
  }));
  if (status === 'lost') deps.announce({ kind: 'lost', worktreeId: id, message });
  return after;
}

async function removeHalfMade(deps: Deps, { id, path }: StoredWorktree): Promise<boolean> {
  const { log } = deps;
  if (path === null || !(await exists(path))) return true;
  try {
    if (await removeCleanEntry(deps, await openWorktree(deps, path))) return true;
    log.warn('a half-made worktree is left', { worktree: id, path });
  } catch (error) {
    log.warn('a half-made worktree could not be removed', { worktree: id, path, error });
  }
  return false;
}

function before(row: StoredWorktree): WorktreeStatus {
  const ref = row.intent?.kind === 'create' ? row.intent.keptOn : undefined;
  if (ref === refs.held(row.id)) return 'held';
  return ref === refs.discarded(row.id) ? 'discarded' : 'lost';
}

async function dropUntouchedBranch({ git, checkout, log }: Deps, row: StoredWorktree): Promise<void> {
  await setRef(git, checkout, { ref: refs.branch(row.branch), to: null, from: row.base.commit }).catch(
    (error: unknown) => log.warn('a branch could not be removed', { branch: row.branch, error }),
  );
}

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
 * A checkout of the branch at the commit. A repeat completes what a kill left: a branch or a registration without folder,
 * a folder half filled. A folder with a file that Reef did not put there is not touched.
 */
async function ensureCheckout(deps: Deps, wanted: Wanted): Promise<Checkout> {
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

/** Refuses a file that is in none of the trees: nobody else should know this folder yet. */
async function refuseStrangers({ git, checkout }: Deps, { path, commit, trees }: Wanted): Promise<void> {
  const own = new Set(['.git']);
  for (const tree of [commit, ...trees]) for await (const entry of listTree(git, checkout, tree)) own.add(entry.path);
  for await (const file of filesBelow(path)) {
    const name = relative(path, file);
    if (own.has(name)) continue;
    throw new ReefError('worktree_state', `${path} is half made and holds ${name}, which Reef did not put there.`);
  }
}

/** Every file below the folder, links not followed. */
export async function* filesBelow(folder: string): AsyncGenerator<string> {
  for await (const entry of await opendir(folder)) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* filesBelow(path);
    else yield path;
  }
}
