import { lstat, opendir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Checkout } from '../../git/checkout.ts';
import { mergeTrees } from '../../git/merge.ts';
import { setRef } from '../../git/refs.ts';
import { readHead, readTree } from '../../git/repository.ts';
import { readStatus } from '../../git/status.ts';
import { toReefError } from '../../protocol/errors.ts';
import type { PruneEntry, PruneReport } from '../../protocol/worktrees.ts';
import type { Deps } from '../deps.ts';
import { emptyTrash, moveToTrash, processesInside, retryRemoval, whyKeep } from '../keep/remove.ts';
import { refs } from '../layout.ts';
import { findBase } from '../make/checks.ts';
import { type StoredWorktree, without } from '../records.ts';
import { forgetEntry, openWorktree } from '../registry.ts';
import { stampOf } from '../stamp.ts';
import { classify, look } from './reconcile.ts';

const KEEP_REFS_MS = 30 * 24 * 3_600_000;

export interface PruneOptions {
  yes?: boolean;
}

/** Lists what could go, with size, age and reason. With `yes` it goes, unless there is work in it. */
export async function prune(deps: Deps, { yes = false }: PruneOptions): Promise<PruneReport> {
  const seen = await look(deps);
  const { live, held, zombies } = classify(seen);
  const entries: PruneEntry[] = [];
  for (const id of [...live, ...held]) entries.push(await inUse(deps, deps.records.get(id)));
  for (const zombie of zombies) entries.push(await pruneZombie(deps, zombie, yes));
  entries.push(...(await pruneRefs(deps, yes)));
  if (yes) await emptyTrash(deps);
  return { entries };
}

/** Of merged worktrees that stayed, those go against which nothing speaks any more. */
export async function retryLeftovers(deps: Deps): Promise<void> {
  const { zombies } = classify(await look(deps));
  for (const { path, worktreeId } of zombies) {
    const row = worktreeId === null ? undefined : deps.records.find(worktreeId);
    if (row?.leftover?.path === path) await retryRemoval(deps, row);
  }
}

async function inUse(deps: Deps, row: StoredWorktree): Promise<PruneEntry> {
  const isOver = row.status === 'running' && !deps.records.atWork().has(row.id);
  const reason = isOver
    ? `nobody has merged or discarded it: reef accept ${row.id}, reef discard ${row.id}`
    : `it is ${row.status}`;
  const target = row.path ?? refs.held(row.id);
  const since = Date.parse(row.createdAt);
  return refused(await entryOf(deps, { target, worktreeId: row.id, reason, since }), reason);
}

async function pruneZombie(
  deps: Deps,
  { path, worktreeId, why }: { path: string; worktreeId: string | null; why: string },
  yes: boolean,
): Promise<PruneEntry> {
  const { mtimeMs: since } = await lstat(path);
  const entry = await entryOf(deps, { target: path, worktreeId, reason: why, since });
  try {
    const worktree = await openWorktree(deps, path);
    const stamp = await stampOf(deps.git, worktree);
    const removing = worktreeId === null ? undefined : deps.records.find(worktreeId)?.leftover?.removing;
    const work = removing ? await whyKeep(deps, removing) : await whyWork(deps, worktree, worktreeId);
    if (work !== undefined) return refused(entry, work);
    if (!yes) return entry;
    if (stamp !== (await stampOf(deps.git, worktree))) return refused(entry, 'it is being changed');
    await moveToTrash(deps, path);
    await forgetEntry(deps, path);
    if (worktreeId !== null) deps.records.change(worktreeId, (now) => without(now, 'leftover') as StoredWorktree);
    return { ...entry, outcome: 'removed' };
  } catch (error) {
    return refused(entry, `git cannot say what is in it: ${toReefError(error).message}`);
  }
}

/** Why it holds work: it is dirty, occupied, or merging it would still change its target. */
async function whyWork(
  { git, checkout, records }: Deps,
  worktree: Checkout,
  worktreeId: string | null,
): Promise<string | undefined> {
  const dirty = await readStatus(git, worktree);
  if (dirty.length > 0)
    return `it has changes that are not committed, in ${dirty.length} file${dirty.length === 1 ? '' : 's'}`;
  const pids = await processesInside(worktree.toplevel);
  if (pids.length > 0) return `processes work in it: ${pids.join(', ')}`;
  const { commit: head } = await readHead(git, worktree);
  const goal = (worktreeId === null ? undefined : records.find(worktreeId)?.base.branch) || undefined;
  const { commit: target } = await findBase(git, checkout, goal);
  const { tree, isClean } = await mergeTrees(git, worktree, { ours: target, theirs: head });
  return isClean && tree === (await readTree(git, checkout, target)) ? undefined : 'it has commits that are not merged';
}

/** Discarded and archived work is kept for 30 days. */
async function pruneRefs(deps: Deps, yes: boolean): Promise<PruneEntry[]> {
  const { git, checkout, clock } = deps;
  const format = '--format=%(refname) %(objectname) %(committerdate:unix)';
  const folders = ['refs/reef/discarded/', 'refs/reef/archive/'];
  const { stdout } = await git.call(checkout, ['for-each-ref', format, '--', ...folders]);
  const entries: PruneEntry[] = [];
  for (const line of stdout.toString('utf8').split('\n').filter(Boolean)) {
    const [ref = '', oid = '', seconds = ''] = line.split(' ');
    const ageMs = clock.now().getTime() - Number(seconds) * 1000;
    if (ageMs < KEEP_REFS_MS) continue;
    const isGone = yes && (await setRef(git, checkout, { ref, to: null, from: oid }));
    const entry = { kind: 'ref', target: ref, worktreeId: ref.split('/').at(-1) ?? null, bytes: 0 } as const;
    const outcome = isGone ? 'removed' : 'would_remove';
    entries.push({ ...entry, ageSeconds: Math.floor(ageMs / 1000), reason: 'kept for more than 30 days', outcome });
  }
  return entries;
}

async function entryOf(
  { clock }: Deps,
  { target, worktreeId, reason, since }: Pick<PruneEntry, 'target' | 'worktreeId' | 'reason'> & { since: number },
): Promise<PruneEntry> {
  const isRef = target.startsWith('refs/');
  return {
    kind: isRef ? 'ref' : 'worktree',
    target,
    worktreeId,
    reason,
    bytes: isRef ? 0 : await sizeOf(target),
    ageSeconds: Math.max(0, Math.floor((clock.now().getTime() - since) / 1000)),
    outcome: 'would_remove',
  };
}

function refused(entry: PruneEntry, why: string): PruneEntry {
  return { ...entry, outcome: 'refused', refusal: { code: 'prune_refused', why } };
}

async function sizeOf(folder: string): Promise<number> {
  let bytes = 0;
  for await (const entry of await opendir(folder)) {
    const path = join(folder, entry.name);
    bytes += entry.isDirectory() ? await sizeOf(path) : ((await lstat(path).catch(() => undefined))?.size ?? 0);
  }
  return bytes;
}
