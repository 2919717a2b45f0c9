import { restoreFiles } from '../../git/advance.ts';
import { type Oid, worktreeBranch } from '../../git/ref-name.ts';
import { setRef } from '../../git/refs.ts';
import { readRef } from '../../git/repository.ts';
import { ReefError, toReefError } from '../../protocol/errors.ts';
import type { WorktreeStatus } from '../../protocol/worktrees.ts';
import type { Deps } from '../deps.ts';
import { findKept, type Kept } from '../keep/kept.ts';
import { exists, refs } from '../layout.ts';
import { openWorktree } from '../open-worktree.ts';
import type { Intent, StoredWorktree } from '../record.ts';
import { without } from '../records.ts';
import { patiently, removeCleanEntry } from '../registry.ts';
import { runSetup } from '../scripts.ts';
import { currentTip, refuseLowDisk } from './checks.ts';
import { ensureCheckout } from './ensure-checkout.ts';
import { copyIncluded } from './include.ts';

type Creating = Extract<Intent, { kind: 'create' }>;

/**
 * Makes the worktree of a record that is `creating`. Each step is recorded before the next, and the whole may be
 * repeated from any point: a kill leaves what this completes.
 */
export async function build(deps: Deps, id: string): Promise<StoredWorktree> {
  const intent = creatingOf(deps.records.get(id));
  const kept = intent.keptOn === undefined ? undefined : await findKept(deps, intent.keptOn);
  if (intent.step === 'claimed') await makeCheckout(deps, await settle(deps, id, kept), kept);
  const row = deps.records.get(id);
  await copyRepositoryFiles(deps, row);
  const setup = await runSetup(deps, row);
  await deps.at('create.set_up');
  const done = deps.records.move(id, ['creating'], (now) => ({
    ...without(now, 'intent', 'failure', 'keptOn', 'endedAt'),
    setup,
    status: 'running',
  }));
  if (setup.state === 'failed') {
    deps.announce({ kind: 'setup_failed', worktreeId: id, message: setup.message ?? '' });
  }
  return done;
}

function creatingOf(row: StoredWorktree): Creating {
  if (row.status === 'creating' && row.intent?.kind === 'create') return row.intent;
  throw new ReefError('worktree_state', `The worktree ${row.id} is ${row.status}, not being made.`);
}

/** Decides once where it lies and what it starts from; repeated, it is what was decided. */
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

/** Its own name, unless the user has moved a branch of that name elsewhere: then another, and theirs stays. */
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

async function copyRepositoryFiles({ git, checkout, items, log }: Deps, { id, path }: StoredWorktree): Promise<void> {
  const patterns = await items.include?.();
  if (patterns === undefined || path === null) return;
  const { skipped } = await copyIncluded(git, checkout, { path, patterns });
  if (skipped.length > 0) log.warn('.worktreeinclude: not copied', { worktree: id, skipped: skipped.slice(0, 20) });
}

/**
 * Takes a failed creation back: folder and branch go if nothing is in them, and the record is what it was before, or
 * `lost`. What git will not give up stays and shows as a zombie.
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
