import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { readIndex, TREES } from './artifact-store.ts';

interface PruneInput {
  dir: string;
  now: Date;
  /** When the last job of a tree ended; undefined while one is active, and for trees nobody knows any more. */
  endedAt(tree: string): Date | 'active' | undefined;
  maxBytes?: number;
  maxAgeMs?: number;
}

const MAX_BYTES = 1024 ** 3;
const MAX_AGE_MS = 7 * 24 * 3_600_000;

interface Tree {
  name: string;
  hashes: Set<string>;
  ended: number;
}

/**
 * Seven days after its jobs a tree's artifacts go, and beyond a gigabyte the oldest finished first; those of an active
 * tree never (S-38). A text that a kept tree names as well stays.
 */
export async function pruneArtifacts(input: PruneInput): Promise<{ trees: string[]; files: number }> {
  const { dir, now, maxBytes = MAX_BYTES, maxAgeMs = MAX_AGE_MS } = input;
  const all = await readTrees(input);
  const sizes = await sizesOf(dir);
  const finished = all.filter(({ ended }) => ended < Number.POSITIVE_INFINITY).sort((a, b) => a.ended - b.ended);
  const gone = new Set(finished.filter(({ ended }) => now.getTime() - ended > maxAgeMs));
  const bytes = () =>
    total(
      all.filter((tree) => !gone.has(tree)),
      sizes,
    );
  for (const tree of finished) {
    if (bytes() <= maxBytes) break;
    gone.add(tree);
  }
  for (const { name } of gone) await rm(join(dir, TREES, name), { force: true });
  const kept = new Set(all.filter((tree) => !gone.has(tree)).flatMap(({ hashes }) => [...hashes]));
  const unnamed = [...sizes.keys()].filter((hash) => !kept.has(hash));
  for (const hash of unnamed) await rm(join(dir, hash), { force: true });
  return { trees: [...gone].map(({ name }) => treeId(name)), files: unnamed.length };
}

async function readTrees({ dir, endedAt }: PruneInput): Promise<Tree[]> {
  const names = await readdir(join(dir, TREES)).catch(() => []);
  return Promise.all(
    names.map(async (name) => {
      const ended = endedAt(treeId(name));
      const hashes = new Set((await readIndex(join(dir, TREES, name))).map(({ hash }) => hash));
      const unknown = (await stat(join(dir, TREES, name))).mtimeMs;
      return { name, hashes, ended: ended === 'active' ? Number.POSITIVE_INFINITY : (ended?.getTime() ?? unknown) };
    }),
  );
}

async function sizesOf(dir: string): Promise<Map<string, number>> {
  const names = (await readdir(dir).catch(() => [])).filter((name) => /^[0-9a-f]{64}$/.test(name));
  return new Map(await Promise.all(names.map(async (name) => [name, (await stat(join(dir, name))).size] as const)));
}

function total(trees: readonly Tree[], sizes: ReadonlyMap<string, number>): number {
  const hashes = new Set(trees.flatMap((tree) => [...tree.hashes]));
  return [...hashes].reduce((sum, hash) => sum + (sizes.get(hash) ?? 0), 0);
}

function treeId(name: string): string {
  return name.replace(/\.jsonl$/, '');
}
