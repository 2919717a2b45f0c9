import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setImmediate as breathe } from 'node:timers/promises';
import type { Git } from '../../../git/git-command.ts';
import type { Place } from '../../../git/place.ts';
import type { Oid } from '../../../git/ref-name.ts';
import { listTree } from '../../../git/tree.ts';
import { readOverlay } from '../tree/remembrance.ts';
import type { WorktreeTree } from '../tree/worktree-tree.ts';
import type { FactStore } from './fact-store.ts';
import { today } from './fact-table.ts';
import type { WorktreeRow } from './registry.ts';

const WEEK_MS = 7 * 86_400_000;
const UNSEEN_DAYS = 14;
const TIGHT = 1.5;
const SLICE_MS = 50;
const VACUUM_PAGES = 256;
const LAST = 'collected_at';
const DROPS = 'drops';

interface Parts {
  git: Git;
  tree: WorktreeTree;
  store: FactStore;
}

/** Weekly, or when the store has outgrown its source (C-024). */
export function isDue({ tree, store }: Parts): boolean {
  const last = Number(store.look(({ registry }) => registry.meta(LAST), undefined) ?? 0);
  if (last === 0) store.write(({ registry }) => registry.setMeta(LAST, String(Date.now())));
  return (last !== 0 && Date.now() - last > WEEK_MS) || isTight({ tree, store });
}

function isTight({ tree, store }: Pick<Parts, 'tree' | 'store'>): boolean {
  let source = 0;
  for (const { stamp } of tree.files.values()) source += stamp.size;
  const size = statSync(store.file, { throwIfNoEntry: false })?.size ?? 0;
  return source > 0 && size > source * TIGHT;
}

/**
 * Drops what no registered worktree maps, the longest unseen first; all of it only when room is needed. What one maps is never
 * dropped: whatever cannot be asked for its blobs keeps everything as it is. Returns how many blobs went.
 */
export async function collect(parts: Parts): Promise<number> {
  const { store, tree } = parts;
  const mapped = await mappedBlobs(parts).catch(() => undefined);
  if (!mapped) return 0;
  const isNeeded = isTight({ tree, store });
  const blobs = store.look(({ facts }) => facts.blobs(), []).filter(({ oid }) => !mapped.has(oid));
  const doomed = blobs
    .filter(({ seenDay }) => isNeeded || today() - seenDay > UNSEEN_DAYS)
    .sort((a, b) => b.seenDay - a.seenDay); // the longest unseen is taken first, from the end
  const total = doomed.length;
  while (doomed.length > 0) {
    const isDone = store.write(({ facts, registry }) => {
      registry.setMeta(DROPS, String(Number(registry.meta(DROPS) ?? 0) + 1));
      const end = performance.now() + SLICE_MS;
      for (let blob = doomed.pop(); blob; blob = performance.now() < end ? doomed.pop() : undefined)
        facts.forgetBlob(blob.id);
      return true;
    });
    if (isDone === undefined) return total - doomed.length; // the store cannot be written now
    await breathe();
  }
  for (let left = store.freePages(); left > 0; left = Math.min(left - 1, store.freePages())) {
    store.vacuumStep(VACUUM_PAGES);
    await breathe();
  }
  store.write(({ registry }) => registry.setMeta(LAST, String(Date.now())));
  return total;
}

/**
 * Moves whenever something was dropped. A server tells the others what it maps once a minute, so what it has just read may
 * be among that: then it is read again.
 */
export function dropsOf(store: Pick<FactStore, 'look'>): string {
  return store.look(({ registry }) => registry.meta(DROPS), undefined) ?? '';
}

async function mappedBlobs({ git, tree, store }: Parts): Promise<Set<Oid>> {
  const mapped = new Set<Oid>([...tree.files.values()].map(({ oid }) => oid));
  const living = livingWorktrees(tree.place);
  for (const row of store.look(({ registry }) => registry.worktrees(), [])) {
    if (row.path === tree.place.toplevel) continue;
    if (!living.has(row.path) && !existsSync(row.path)) store.write(({ registry }) => registry.unregister(row.path));
    else for await (const oid of blobsOf(git, tree.place, row)) mapped.add(oid);
  }
  return mapped;
}

/** Another worktree's files may be out of our sight, but its commit is in the shared objects, and the rest it left here. */
async function* blobsOf(git: Git, place: Place, { head, overlay, staged }: WorktreeRow): AsyncGenerator<Oid> {
  if (head !== '') for await (const { oid } of listTree(git, place, head)) yield oid;
  for (const { oid } of readOverlay(overlay)) yield oid;
  yield* staged.split(' ').filter(Boolean);
}

function livingWorktrees({ commonDir }: Place): Set<string> {
  const folder = join(commonDir, 'worktrees');
  const names = existsSync(folder) ? readdirSync(folder) : [];
  const found = names.map((name) => join(folder, name, 'gitdir')).filter((file) => existsSync(file));
  return new Set([dirname(commonDir), ...found.map((file) => dirname(readFileSync(file, 'utf8').trim()))]);
}
