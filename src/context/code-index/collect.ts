import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setImmediate as breathe } from 'node:timers/promises';
import type { Checkout } from '../../git/checkout.ts';
import type { Git } from '../../git/git-command.ts';
import type { Oid } from '../../git/ref-name.ts';
import { listTree } from '../../git/tree.ts';
import type { Sqlite } from '../../store/driver.ts';
import type { FactStore, Tables } from './store/fact-store.ts';
import { today } from './store/fact-table.ts';
import { SCHEMA_VERSION } from './store/open-database.ts';
import { Registry, type WorktreeRow } from './store/registry.ts';
import { type RemembranceDeps, readOverlay } from './tree/remembrance.ts';
import type { WorktreeTree } from './tree/worktree-tree.ts';

const WEEK_MS = 7 * 86_400_000;
const UNSEEN_DAYS = 14;
const TIGHT = 1.5;
const OUTGROWN = 2;
/** A smaller store is never too large: its empty tables alone take some pages. */
const SMALL_BYTES = 1024 * 1024;
const SLICE_MS = 50;
const VACUUM_PAGES = 256;
const LAST = 'collected_at';
const DROPS = 'drops';

/** Weekly, or when the store has outgrown its source. */
export function isDue({ tree, store }: RemembranceDeps): boolean {
  const last = Number(store.look(({ registry }) => registry.meta(LAST), undefined) ?? 0);
  if (last === 0) store.write(({ registry }) => registry.setMeta(LAST, String(Date.now())));
  return (last !== 0 && Date.now() - last > WEEK_MS) || timesSource(tree, store) > TIGHT;
}

/** How many times the source of its largest worktree the store takes. */
function timesSource(tree: WorktreeTree, store: FactStore): number {
  const largest = store.look(({ registry }) => registry.largestSource(), 0);
  const source = Math.max(tree.sourceBytes, largest);
  return source === 0 ? 0 : store.bytes() / source;
}

/**
 * Drops blobs that no registered worktree maps, the longest unseen first. All of them go only when room is needed. If a worktree
 * cannot be asked for its blobs, nothing is dropped. Returns how many blobs went.
 */
export async function collect(deps: RemembranceDeps): Promise<number> {
  const { store, tree } = deps;
  const blobs = store.look(({ facts }) => facts.blobs(), []); // first: what is written later is nobody's to drop
  const mapped = await mappedBlobs(deps).catch(() => undefined);
  if (!mapped) return 0;
  const isNeeded = timesSource(tree, store) > TIGHT;
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
  if (!isDone) return 0;
  await vacuum(store);
  const times = timesSource(tree, store);
  const isOutgrown = store.bytes() > SMALL_BYTES && times > OUTGROWN;
  store.write(({ registry }) => {
    registry.setMeta(LAST, String(Date.now()));
    registry.setOutgrown(isOutgrown ? times : undefined);
  });
  return doomed.length;
}

/** What the last collection found, read from a store that the doctor has opened. */
export function timesOutgrown(database: Sqlite): number | undefined {
  return Number(database.pragma('user_version')) === SCHEMA_VERSION ? new Registry(database).outgrown() : undefined;
}

/** Works in transactions of 50 ms, between which questions are answered. False: the store cannot be written now. */
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

/** Changes whenever something was dropped. A server that finds its own content gone reads it again. */
export function dropsOf(store: FactStore): string {
  return store.look(({ registry }) => registry.meta(DROPS), undefined) ?? '';
}

async function mappedBlobs({ git, tree, store }: RemembranceDeps): Promise<Set<Oid>> {
  const mapped = new Set<Oid>([...tree.files.values()].map(({ oid }) => oid));
  const living = livingWorktrees(tree.checkout);
  for (const row of store.look(({ registry }) => registry.worktrees(), [])) {
    if (row.path === tree.checkout.toplevel) continue;
    if (!living.has(row.path) && !existsSync(row.path)) store.write(({ registry }) => registry.unregister(row.path));
    else for await (const oid of blobsOf(git, tree.checkout, row)) mapped.add(oid);
  }
  for (const oid of freshBlobs(store, living)) mapped.add(oid);
  return mapped;
}

/** What living worktrees alone have and have not registered yet. */
function freshBlobs(store: FactStore, living: ReadonlySet<string>): Oid[] {
  return store
    .look(({ registry }) => registry.freshWorktrees(), [])
    .flatMap((path) => {
      if (living.has(path) || existsSync(path)) return store.look(({ registry }) => registry.fresh(path), []);
      store.write(({ registry }) => registry.forgetFresh(path));
      return [];
    });
}

/** We may not see another worktree's files, but its commit is in the shared objects and the rest is registered here. */
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
