import { open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ReefError } from '../../protocol/errors.ts';
import type { Checkout } from '../checkout.ts';
import type { Git } from '../git-command.ts';
import { entriesOnly } from '../index-file.ts';
import type { Oid } from '../ref-name.ts';
import type { Place } from './place.ts';
import type { Side } from './sides.ts';

const SUBMODULE = 0o160000;
const WRITE_MS = 600_000;
/** Git knows it without a file, and an entry that is only announced names it. */
const EMPTY_BLOBS = [
  'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391',
  '473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813',
];

/** The agent's index as the worktree may have it, and what it names that the worktree's own does not. */
export function indexOf(inside: Side, outside: Side): { bytes?: Buffer | undefined; blobs: Oid[] } {
  const known = new Set(EMPTY_BLOBS);
  const oidBytes = (inside.tip ?? outside.tip ?? outside.head).length === 64 ? 32 : 20;
  if (outside.index) entriesOnly(outside.index.bytes, oidBytes, ({ oid }) => known.add(oid));
  const blobs = new Set<Oid>();
  const bytes =
    inside.index &&
    entriesOnly(inside.index.bytes, oidBytes, ({ oid, mode }) => {
      if (mode !== SUBMODULE && !known.has(oid)) blobs.add(oid);
    });
  return { bytes, blobs: bytes === undefined ? [] : [...blobs] };
}

/** What was staged stays staged. What only git can read is left, and nothing is staged then. */
export async function bringIndex(
  git: Git,
  checkout: Checkout,
  { bytes, mtimeMs, commit }: { bytes: Buffer | undefined; mtimeMs: number; commit: Oid },
): Promise<void> {
  if (bytes !== undefined) return replace(checkout.gitDir, 'index', { bytes, mtimeMs });
  await git.call(checkout, ['read-tree', commit], { timeoutMs: WRITE_MS });
  // Refreshes the times only.
  await git.call(checkout, ['update-index', '-q', '--refresh'], { timeoutMs: WRITE_MS, okCodes: [0, 1] });
}

/** Shows the agent where the repository has gone on to. An agent that writes its index meanwhile gets the other's later. */
export async function carryIn(
  place: Place,
  { branch, outside, isIndexOnly }: { branch: string | null; outside: Side; isIndexOnly: boolean },
): Promise<void> {
  if (!isIndexOnly) {
    if (branch !== null && outside.tip !== null) await replace(place.branch, 'tip', line(outside.tip));
    await replace(place.gitDir, 'HEAD', line(outside.head));
  }
  if (outside.index === undefined) return;
  await replace(place.gitDir, 'index', outside.index).catch((error: unknown) => {
    if (!(isIndexOnly && error instanceof ReefError && error.code === 'git_locked')) throw error;
  });
}

function line(text: string): { bytes: Buffer } {
  return { bytes: Buffer.from(`${text}\n`) };
}

/**
 * As git does it: under a lock, and in one step. Git trusts an entry that is older than its index, so a copy must not look younger
 * than the original.
 */
export async function replace(
  folder: string,
  name: string,
  { bytes, mtimeMs }: { bytes: Buffer; mtimeMs?: number },
): Promise<void> {
  const [path, lock] = [join(folder, name), join(folder, `${name}.lock`)];
  const file = await open(lock, 'wx', 0o644).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== 'EEXIST') throw cause;
    throw new ReefError('git_locked', `${lock} is held.`, { cause, details: { lock } });
  });
  try {
    await file.writeFile(bytes);
    const seconds = mtimeMs === undefined ? undefined : (Math.floor(mtimeMs) - 1) / 1000;
    if (seconds !== undefined) await file.utimes(seconds, seconds); // by its handle: an agent may change what has its name
    await file.sync();
  } finally {
    await file.close();
  }
  try {
    await rename(lock, path);
  } catch (error) {
    await rm(lock, { force: true });
    throw error;
  }
}
