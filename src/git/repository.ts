import { lstat, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ReefError } from '../protocol/errors.ts';
import type { Checkout } from './checkout.ts';
import type { Git } from './git-command.ts';
import { checkRef, checkRevision, type Oid } from './ref-name.ts';

interface Head {
  commit: Oid;
  /** Full name; absent when detached. */
  branch?: string;
}

interface Identity {
  name: string;
  email: string;
}

/** The commit and branch a checkout stands on. A repository without a commit is `repo_empty`. */
export async function readHead(git: Git, checkout: Checkout): Promise<Head> {
  const commit = await findCommit(git, checkout, 'HEAD');
  if (commit === undefined) throw new ReefError('repo_empty', `${checkout.toplevel} has no commit yet.`);
  const { code, stdout } = await git.call(checkout, ['symbolic-ref', '--quiet', 'HEAD'], { okCodes: [0, 1] });
  return { commit, ...(code === 0 && { branch: lineOf(stdout) }) };
}

/** The commit that a revision names, if there is one. */
export async function findCommit(git: Git, checkout: Checkout, revision: string): Promise<Oid | undefined> {
  return resolve(git, checkout, `${checkRevision(revision)}^{commit}`);
}

/** What a ref points at; `undefined` if it does not exist. */
export async function readRef(git: Git, checkout: Checkout, ref: string): Promise<Oid | undefined> {
  return resolve(git, checkout, checkRef(ref));
}

export async function readTree(git: Git, checkout: Checkout, commit: Oid): Promise<Oid> {
  const tree = await resolve(git, checkout, `${checkRevision(commit)}^{tree}`);
  if (tree === undefined) throw new ReefError('ref_invalid', `There is no tree of ${commit}.`);
  return tree;
}

async function resolve(git: Git, checkout: Checkout, revision: string): Promise<Oid | undefined> {
  const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', revision];
  const { code, stdout } = await git.call(checkout, args, { okCodes: [0, 1] });
  return code === 0 ? lineOf(stdout) : undefined;
}

export async function isAncestor(
  git: Git,
  checkout: Checkout,
  { of, commit }: { of: Oid; commit: Oid },
): Promise<boolean> {
  const args = ['merge-base', '--is-ancestor', '--end-of-options', checkRevision(commit), checkRevision(of)];
  return (await git.call(checkout, args, { okCodes: [0, 1] })).code === 0;
}

/** From the user's configuration. Git's guess from the machine's name does not count. */
export async function readIdentity(git: Git, checkout: Checkout): Promise<Identity | undefined> {
  const [name, email] = [await readConfig(git, checkout, 'user.name'), await readConfig(git, checkout, 'user.email')];
  return name && email ? { name, email } : undefined;
}

async function readConfig(git: Git, checkout: Checkout, key: string): Promise<string | undefined> {
  const { code, stdout } = await git.call(checkout, ['config', '-z', '--get', key], { okCodes: [0, 1] });
  return code === 0 ? stdout.subarray(0, -1).toString('utf8') : undefined;
}

const OPERATIONS = {
  merge: ['MERGE_HEAD'],
  rebase: ['rebase-merge', 'rebase-apply'],
  'cherry-pick': ['CHERRY_PICK_HEAD', 'sequencer'],
  revert: ['REVERT_HEAD'],
} as const;
export type Operation = keyof typeof OPERATIONS;

/** The operation that a person or an agent has begun in this checkout and not ended. */
export async function operationUnderWay({ gitDir }: Pick<Checkout, 'gitDir'>): Promise<Operation | undefined> {
  for (const [operation, names] of Object.entries(OPERATIONS)) {
    for (const name of names) if (await lstat(join(gitDir, name)).catch(ifAbsent)) return operation as Operation;
  }
  return undefined;
}

/** The branch that a rebase here will move at its end; HEAD is detached meanwhile. */
export async function branchUnderRebase({ gitDir }: Pick<Checkout, 'gitDir'>): Promise<string | undefined> {
  for (const folder of OPERATIONS.rebase) {
    const name = await readFile(join(gitDir, folder, 'head-name'), 'utf8').catch(ifAbsent);
    if (name !== undefined) return name.trim();
  }
  return undefined;
}

function ifAbsent(error: NodeJS.ErrnoException): undefined {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
  throw error;
}

function lineOf(output: Buffer): string {
  return output.toString('utf8').trimEnd();
}
