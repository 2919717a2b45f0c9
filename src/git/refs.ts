import { lstat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { ReefError } from '../protocol/errors.ts';
import type { Checkout } from './checkout.ts';
import type { Git } from './git-command.ts';
import { nulFields } from './nul-fields.ts';
import { checkOid, checkRef, type Oid } from './ref-name.ts';
import { readRef } from './repository.ts';

interface RefChange {
  ref: string;
  /** `null` deletes it. */
  to: Oid | null;
  /** `null`: it must not exist. */
  from: Oid | null;
}

/** Moves a ref from where the caller last saw it; false if somebody moved it before. */
export async function setRef(git: Git, checkout: Checkout, { ref, to, from }: RefChange): Promise<boolean> {
  const [name, next, last] = [checkRef(ref), to && checkOid(to), from && checkOid(from)];
  if (next === last) return (await readRef(git, checkout, name)) === (next ?? undefined);
  const none = '0'.repeat((next ?? last ?? '').length);
  const line = next === null ? `delete ${name}\0${last}\0` : `update ${name}\0${next}\0${last ?? none}\0`;
  try {
    await git.call(checkout, ['update-ref', '--no-deref', '--stdin', '-z'], { input: line });
    return true;
  } catch (error) {
    const isFailure = error instanceof ReefError && error.code === 'git_failed';
    if (isFailure && (await readRef(git, checkout, name)) !== (last ?? undefined)) return false;
    throw error;
  }
}

export interface Ref {
  ref: string;
  oid: Oid;
}

/** Refs below a folder such as `refs/reef/discarded`, in order of their names. */
export async function listRefs(git: Git, checkout: Checkout, folder: string): Promise<Ref[]> {
  const args = ['for-each-ref', '--format=%(objectname) %(refname)%00', '--', `${checkRef(folder)}/`];
  const { stdout } = await git.call(checkout, args, { maxBytes: 64 * 1024 * 1024 });
  const lines = [...nulFields(stdout.subarray(0, -1))].map((field) => field.toString('utf8').trim());
  return lines.map((line) => ({ oid: line.slice(0, line.indexOf(' ')), ref: line.slice(line.indexOf(' ') + 1) }));
}

/** A lock file of some git on a ref; `identity` tells it from a later one of the same name. */
export interface RefLock {
  path: string;
  identity: string;
}

/** The caller has to find out whose lock it is, and whether its process is alive. */
export async function findRefLock(checkout: Checkout, ref: string): Promise<RefLock | undefined> {
  const path = join(checkout.commonDir, `${checkRef(ref)}.lock`);
  const stat = await lstat(path, { bigint: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
    throw error;
  });
  return stat && { path, identity: `${stat.dev} ${stat.ino} ${stat.mtimeNs}` };
}

/** Removes the lock that was found; false if it is gone or replaced. */
export async function removeRefLock(checkout: Checkout, ref: string, found: RefLock): Promise<boolean> {
  const now = await findRefLock(checkout, ref);
  if (now?.path !== found.path || now.identity !== found.identity) return false;
  await unlink(now.path);
  return true;
}
