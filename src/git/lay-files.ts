import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ReefError } from '../protocol/errors.ts';
import type { Checkout } from './checkout.ts';
import type { Git } from './git-command.ts';
import { checkOid, type Oid } from './ref-name.ts';

const CHECKOUT_MS = 600_000;

interface Step {
  from: Oid;
  to: Oid;
}

/** Changes files from one tree to another with an index of its own that knows every file: git writes what differs and refuses what changed meanwhile. */
export async function layFiles(git: Git, worktree: Checkout, { from, to }: Step): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'reef-join-'));
  try {
    const options = { indexFile: join(folder, 'index'), timeoutMs: CHECKOUT_MS };
    await git.call(worktree, ['read-tree', from], options);
    await git.call(worktree, ['update-index', '-q', '--refresh'], { ...options, okCodes: [0, 1] });
    await git.call(worktree, ['read-tree', '-m', '-u', from, to], options);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Moves HEAD, on whichever branch it is, to a commit whose files are there already; the index follows. */
export async function moveHead(git: Git, worktree: Checkout, { from, to }: Step): Promise<void> {
  const [old, next] = [checkOid(from), checkOid(to)];
  const args = ['update-ref', '-m', 'reef: bring the target in', 'HEAD', next, old];
  const { code } = await git.call(worktree, args, { okCodes: [0, 128] });
  if (code !== 0) throw new ReefError('git_locked', `HEAD of ${worktree.toplevel} was moved by somebody else.`);
  await git.call(worktree, ['read-tree', next], { timeoutMs: CHECKOUT_MS });
  // Refreshes the times only.
  await git.call(worktree, ['update-index', '-q', '--refresh'], { timeoutMs: CHECKOUT_MS, okCodes: [0, 1] });
}
