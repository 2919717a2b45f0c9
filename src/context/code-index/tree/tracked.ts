import { readFileSync, type Stats, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Checkout } from '../../../git/checkout.ts';
import type { Git } from '../../../git/git-command.ts';
import { readIndexFile, SEEN_RANGE } from '../../../git/index-file.ts';
import type { Oid } from '../../../git/ref-name.ts';
import { findCommit } from '../../../git/repository.ts';
import { filteredPaths, listIndex, listTouched } from '../../../git/tree.ts';
import type { ObjectFormat } from './blob-id.ts';
import { readRegular, type Stamp, TICK_MS } from './read-file.ts';

export interface Tracked extends Listed {
  /** `blobs` and `mayDiffer` hold for files that last changed well before this. */
  asOf: number;
  stamp: string;
}

interface Listed {
  /** The blob of a path. Null if only the file itself tells: a conflict, or a filter between blob and file. */
  blobs: Map<string, Oid | null>;
  /** The git tree that holds just these, where the index says so. */
  tree?: Oid | undefined;
  /** Whether the file at this place among `blobs` may differ from its blob, judged by its stats. */
  mayDiffer(at: number, stats: Stats, path: string): boolean;
}

const REGULAR = 0o10;
const ATTRIBUTES = '.gitattributes';
const MOST_TRIES = 5;
const MAX_INDEX_BYTES = 192 * 1024 * 1024;

/** Changes when the index does: `git add`, a checkout, a commit with paths. */
export function indexStamp({ gitDir }: Checkout): string {
  return stampText(join(gitDir, 'index'));
}

/** Leaves out submodules, links and sparse entries. Reads an index that changes meanwhile again. */
export async function readTracked(git: Git, checkout: Checkout, format: ObjectFormat): Promise<Tracked> {
  for (let tries = 1; ; tries++) {
    const stamp = indexStamp(checkout);
    const asOf = Date.now();
    const listed = listFromFile(checkout, format) ?? (await listFromGit(git, checkout));
    if (indexStamp(checkout) !== stamp && tries < MOST_TRIES) continue;
    const { blobs } = listed;
    if (hasFilters(checkout, blobs.keys())) {
      for (const path of await filteredPaths(git, checkout, [...blobs.keys()])) blobs.set(path, null);
    }
    return { ...listed, asOf, stamp: indexStamp(checkout) === stamp ? stamp : 'moving' };
  }
}

/**
 * Reads the index itself: git compares times by the second, so after `git worktree add` it would read most files again. The times in
 * the index are finer.
 */
function listFromFile({ gitDir }: Checkout, format: ObjectFormat): Listed | undefined {
  const file = readRegular(join(gitDir, 'index'), MAX_INDEX_BYTES);
  if (!file) return undefined;
  const blobs = new Map<string, Oid | null>();
  const seen = new SeenFiles();
  const oidBytes = format === 'sha256' ? 32 : 20;
  const index = readIndexFile(file.bytes, oidBytes, (entry) => {
    if (entry.mode >> 12 !== REGULAR) return;
    if (!blobs.has(entry.path)) seen.add(entry.seen);
    blobs.set(entry.path, entry.stage === 0 ? entry.oid : null);
  });
  if (!index) return undefined;
  const writtenAt = file.stamp.mtimeMs;
  return {
    blobs,
    tree: index.tree,
    mayDiffer: (at, stats) => stats.mtimeMs > writtenAt - TICK_MS || !seen.isSame(at, stats),
  };
}

/** Four numbers per file in one array: objects would take megabytes of a server's heap. */
class SeenFiles {
  #numbers = new Float64Array(1_024);
  #count = 0;

  add({ mtimeMs, ctimeMs, ino, size }: Stamp): void {
    if (this.#count + 4 > this.#numbers.length) {
      const larger = new Float64Array(this.#numbers.length * 2);
      larger.set(this.#numbers);
      this.#numbers = larger;
    }
    this.#numbers.set([mtimeMs, ctimeMs, ino, size], this.#count);
    this.#count += 4;
  }

  isSame(at: number, { mtimeMs, ctimeMs, ino, size }: Stats): boolean {
    const [mtime, ctime, inode, bytes] = this.#numbers.subarray(at * 4, at * 4 + 4);
    return mtime === mtimeMs && ctime === ctimeMs && inode === ino % SEEN_RANGE && bytes === size % SEEN_RANGE;
  }
}

async function listFromGit(git: Git, checkout: Checkout): Promise<Listed> {
  const blobs = new Map<string, Oid | null>();
  for await (const { mode, oid, stage, path } of listIndex(git, checkout)) {
    if (Number.parseInt(mode, 8) >> 12 === REGULAR) blobs.set(path, stage === 0 ? oid : null);
  }
  const touched = new Set<string>();
  for await (const path of listTouched(git, checkout)) touched.add(path);
  return { blobs, mayDiffer: (_at, _stats, path) => touched.has(path) };
}

/** Whether any file sets a filter. Asking git for the attributes of every path takes longer than listing them. */
function hasFilters(checkout: Checkout, paths: Iterable<string>): boolean {
  const files = [join(checkout.commonDir, 'info/attributes')];
  for (const path of paths)
    if (path.endsWith(ATTRIBUTES) && basename(path) === ATTRIBUTES) files.push(join(checkout.toplevel, path));
  return files.some((file) => /\bfilter\b/.test(textIn(file)));
}

/** Reads the commit of HEAD, empty before the first one. Asks git only after one of the files that decide it has changed. */
export function headReader(git: Git, checkout: Checkout): () => Promise<string> {
  let known: { stamp: string; commit: string } | undefined;
  return async () => {
    const stamp = stampOfHead(checkout);
    if (known?.stamp === stamp) return known.commit;
    const commit = (await findCommit(git, checkout, 'HEAD')) ?? '';
    known = { stamp, commit };
    return commit;
  };
}

function stampOfHead({ gitDir, commonDir }: Checkout): string {
  const head = textIn(join(gitDir, 'HEAD'));
  const [, ref] = /^ref: (.+)$/m.exec(head) ?? [];
  const shared = ['packed-refs', 'reftable/tables.list', ...(ref === undefined ? [] : [ref])];
  const files = [join(gitDir, 'logs/HEAD'), ...shared.map((file) => join(commonDir, file))];
  return JSON.stringify([head, ...files.map(stampText)]);
}

/** A stamp as text, empty if the file is not there. */
export function stampText(file: string): string {
  const stats = statSync(file, { throwIfNoEntry: false });
  return stats === undefined ? '' : [stats.size, stats.mtimeMs, stats.ctimeMs, stats.ino].join(' ');
}

/** Empty if the file cannot be read. */
function textIn(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
