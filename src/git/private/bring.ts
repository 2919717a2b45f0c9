import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { copyFile, lstat, mkdir, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { capText } from '../../base/cap.ts';
import type { RunResult } from '../../base/programs.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Checkout } from '../checkout.ts';
import type { Git } from '../git-command.ts';
import { checkOid, type Oid } from '../ref-name.ts';
import type { Place } from './place.ts';

/** Runs git in a sandbox that shows the objects of a place as an agent sees them. What it writes goes to `place.out`. */
export type GitApart = (command: { args: readonly string[]; input: string; place: Place }) => Promise<RunResult>;

const MOST_BYTES = 2 * 1024 ** 3;
const CHECK_MS = 600_000;
const MESSAGE_BYTES = 2_048;
const PACK = ['pack-objects', '--revs', '--local', '--non-empty', '--stdout', '--quiet', '--window=0'];

export interface Bringing {
  git: Git;
  apart: GitApart;
  maxBytes?: number;
}

interface Wanted {
  /** Commits, and blobs of an index. */
  wants: readonly Oid[];
  /** Commits that the repository has. */
  haves: readonly Oid[];
}

/**
 * Brings what an agent wrote into the repository, checked as strictly as git can: names, content, links to what is missing. Git
 * in a sandbox reads the agent's folder and makes a pack; git outside reads the pack only. A repeat changes nothing.
 */
export async function bringObjects(
  { git, apart, maxBytes = MOST_BYTES }: Bringing,
  checkout: Checkout,
  { place, wants, haves }: Wanted & { place: Place },
): Promise<void> {
  await rm(place.out, { force: true });
  try {
    const lines = [...wants.map(checkOid), ...haves.map((oid) => `^${checkOid(oid)}`)];
    const input = `${lines.join('\n')}\n`;
    const { code, stderr } = await apart({ args: PACK, input, place });
    const said = capText(stderr.toString('utf8').trim(), MESSAGE_BYTES);
    if (said.startsWith('bwrap:')) throw new ReefError('sandbox_unavailable', said);
    if (code !== 0) throw refused(checkout, place, said || `git pack-objects ended with ${code}`);
    await takePack(git, checkout, { place, maxBytes });
  } finally {
    await rm(place.out, { force: true });
  }
}

/** The files are in the worktree, so without the copy nothing is gone but what git refuses. */
export function refused({ toplevel }: Checkout, { folder }: Place, why: string): ReefError {
  const message = `Git refuses what an agent committed or staged in ${toplevel}: ${why}. To keep the files and drop its commits that are not in the repository: rm -r ${folder}`;
  return new ReefError('history_refused', message, { details: { toplevel, copy: folder } });
}

/** Without its index a pack is invisible: the check writes the index, and a pack that fails goes. */
async function takePack(
  git: Git,
  checkout: Checkout,
  { place, maxBytes }: { place: Place; maxBytes: number },
): Promise<void> {
  const made = place.out;
  const { size } = await lstat(made);
  if (size === 0) return;
  if (size > maxBytes) {
    const message = `What was committed in ${checkout.toplevel} is more than ${maxBytes} bytes.`;
    throw new ReefError('capture_too_large', message);
  }
  const folder = join(checkout.commonDir, 'objects', 'pack');
  const name = join(folder, `pack-${await checksumOf(made, size)}`);
  if (await isThere(`${name}.idx`)) return;
  // Git's own prefix for unfinished files: its upkeep removes what a kill leaves.
  const copy = join(folder, `tmp_pack_${randomUUID()}`);
  try {
    await mkdir(folder, { recursive: true });
    await copyFile(made, copy, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
    await synced(copy);
    await rename(copy, `${name}.pack`);
    await git.call(checkout, ['index-pack', '--strict', `${name}.pack`], { timeoutMs: CHECK_MS });
  } catch (cause) {
    await rm(copy, { force: true });
    if (!(await isThere(`${name}.idx`))) await rm(`${name}.pack`, { force: true });
    if (!(cause instanceof ReefError && cause.code === 'git_failed')) throw cause;
    throw refused(checkout, place, cause.message);
  }
}

/** A pack ends with the checksum of what comes before; git looks whether it is right. */
async function checksumOf(pack: string, size: number): Promise<string> {
  const file = await open(pack, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    const bytes = Buffer.alloc(Math.min(size, CHECKSUM_BYTES));
    await file.read(bytes, 0, bytes.length, size - bytes.length);
    return bytes.toString('hex');
  } finally {
    await file.close();
  }
}

const CHECKSUM_BYTES = 20;

async function synced(path: string): Promise<void> {
  const file = await open(path, 'r+');
  try {
    await file.sync();
    await file.chmod(0o444);
  } finally {
    await file.close();
  }
}

function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
