import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setImmediate as breathe } from 'node:timers/promises';
import type { Checkout } from '../../git/checkout.ts';
import type { Git } from '../../git/git-command.ts';
import type { Oid } from '../../git/ref-name.ts';
import { listTree } from '../../git/tree.ts';
import type { Sqlite } from '../../store/driver.ts';
import type { FactStore } from './store/fact-store.ts';
import { today } from './store/fact-table.ts';
import { SCHEMA_VERSION } from './store/open-database.ts';
import { Registry, type WorktreeRow } from './store/registry.ts';
import { readOverlay } from './tree/remembrance.ts';
import type { WorktreeTree } from './tree/worktree-tree.ts';

const WEEK_MS = 7 * 86_400_000;
const UNSEEN_DAYS = 14;
const TIGHT = 1.5;
const OUTGROWN = 2;
/** Its tables alone take some pages: a store smaller than this is large for nobody. */
const SMALL_BYTES = 1024 * 1024;
const SLICE_MS = 50;
const VACUUM_PAGES = 256;
const LAST = 'collected_at';
const DROPS = 'drops';

interface CollectDeps {
  git: Git;
  tree: WorktreeTree;
  store: FactStore;
}

/** Weekly, or when the store has outgrown its source. */
export function isDue({ tree, store }: CollectDeps): boolean {
  const last = Number(store.look(({ registry }) => registry.meta(LAST), undefined) ?? 0);
  if (last === 0) store.write(({ registry }) => registry.setMeta(LAST, String(Date.now())));
  return (last !== 0 && Date.now() - last > WEEK_MS) || isTight({ tree, store });
}

function isTight({ tree, store }: Pick<CollectDeps, 'tree' | 'store'>): boolean {
  const source = sourceOf({ tree, store });
  return source > 0 && store.bytes() > source * TIGHT;
}

/** Of the largest worktree. */
function sourceOf({ tree, store }: Pick<CollectDeps, 'tree' | 'store'>): number {
  return Math.max(
    tree.sourceBytes,
    store.look(({ registry }) => registry.largestSource(), 0),
  );
}

/**
 * Drops what no registered worktree maps, the longest unseen first; all of it only when room is needed. What one maps is never
 * dropped: whatever cannot be asked for its blobs keeps everything as it is. Returns how many blobs went.
 */
export async function collect(deps: CollectDeps): Promise<number> {
  const { store, tree } = deps;
  const mapped = await mappedBlobs(deps).catch(() => undefined);
  if (!mapped) return 0;
  const isNeeded = isTight({ tree, store });
  const blobs = store.look(({ facts }) => facts.blobs(), []);
  const seen = blobs.filter(({ oid, seenDay }) => mapped.has(oid) && seenDay < today());
  const doomed = blobs
    .filter(({ oid, seenDay }) => !mapped.has(oid) && (isNeeded || today() - seenDay > UNSEEN_DAYS))
    .sort((a, b) => a.seenDay - b.seenDay);
  const isDone =
    (await inSlices(store, seen, ({ facts }, { id }) => facts.markSeen(id))) &&
    (await inSlices(store, doomed, ({ facts, registry }, { id }, isFirst) => {
      if (isFirst) registry.setMeta(DROPS, String(Number(registry.meta(DROPS) ?? 0) + 1));
      facts.forgetBlob(id);
    }));
  if (!isDone) return 0; // the store cannot be written now
  await vacuum(store);
  const size = store.bytes();
  const times = size / Math.max(1, sourceOf(deps));
  store.write(({ registry }) => {
    registry.setMeta(LAST, String(Date.now()));
    registry.setOutgrown(size > SMALL_BYTES && times > OUTGROWN ? times : undefined);
  });
  return doomed.length;
}

/** What the last collection found of a store that is opened by another than a server. */
export function timesOutgrown(database: Sqlite): number | undefined {
  return Number(database.pragma('user_version')) === SCHEMA_VERSION ? new Registry(database).outgrown() : undefined;
}

type Tables = Parameters<Parameters<FactStore['write']>[0]>[0];

/** Transactions of 50 ms, between which questions are answered. False: the store cannot be written now. */
async function inSlices<T>(
  store: FactStore,
  items: readonly T[],
  work: (tables: Tables, item: T, isFirst: boolean) => void,
): Promise<boolean> {
  for (let at = 0; at < items.length; ) {
    const isWritten = store.write((tables) => {
      const end = performance.now() + SLICE_MS;
      const begin = at;
      do {
        work(tables, items[at] as T, at === begin);
        at += 1;
      } while (at < items.length && performance.now() < end);
      return true;
    });
    if (!isWritten) return false;
    await breathe();
  }
  return true;
}

async function vacuum(store: FactStore): Promise<void> {
  for (let left = store.freePages(); left > 0; left = Math.min(left - 1, store.freePages())) {
    store.vacuumStep(VACUUM_PAGES);
    await breathe();
  }
}

/**
 * Moves whenever something was dropped. A server tells the others what it maps once a minute, so what it has just read may
 * be among that: then it is read again.
 */
export function dropsOf(store: Pick<FactStore, 'look'>): string {
  return store.look(({ registry }) => registry.meta(DROPS), undefined) ?? '';
}

async function mappedBlobs({ git, tree, store }: CollectDeps): Promise<Set<Oid>> {
  const mapped = new Set<Oid>([...tree.files.values()].map(({ oid }) => oid));
  const living = livingWorktrees(tree.checkout);
  for (const row of store.look(({ registry }) => registry.worktrees(), [])) {
    if (row.path === tree.checkout.toplevel) continue;
    if (!living.has(row.path) && !existsSync(row.path)) store.write(({ registry }) => registry.unregister(row.path));
    else for await (const oid of blobsOf(git, tree.checkout, row)) mapped.add(oid);
  }
  return mapped;
}

/** Another worktree's files may be out of our sight, but its commit is in the shared objects, and the rest it left here. */
async function* blobsOf(git: Git, checkout: Checkout, { head, overlay, staged }: WorktreeRow): AsyncGenerator<Oid> {
  if (head !== '') for await (const { oid } of listTree(git, checkout, head)) yield oid;
  for (const { oid } of readOverlay(overlay)) yield oid;
  yield* staged.split(' ').filter(Boolean);
}

function livingWorktrees({ commonDir }: Checkout): Set<string> {
  const folder = join(commonDir, 'worktrees');
  const names = existsSync(folder) ? readdirSync(folder) : [];
  const found = names.map((name) => join(folder, name, 'gitdir')).filter((file) => existsSync(file));
  return new Set([dirname(commonDir), ...found.map((file) => dirname(readFileSync(file, 'utf8').trim()))]);
}
