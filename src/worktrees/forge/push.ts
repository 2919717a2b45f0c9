import { commitTree } from '../../git/commit.ts';
import { diffTrees } from '../../git/diff.ts';
import { checkBranch, type Oid } from '../../git/ref-name.ts';
import { setRef } from '../../git/refs.ts';
import { isAncestor, readRef, readTree } from '../../git/repository.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { PushedWorktree, PushOptions } from '../../protocol/worktrees.ts';
import type { Deps } from '../deps.ts';
import { refuseBusy } from '../keep/put-aside.ts';
import { refs } from '../layout.ts';
import { currentTip } from '../make/checks.ts';
import { openConflicts } from '../merge/conflict.ts';
import { commitWork, mergeBase, signatureOf } from '../merge/merge-commit.ts';
import { editedJudges } from '../merge/what-judges.ts';
import type { StoredWorktree } from '../records.ts';
import { folderOf, openWorktree } from '../registry.ts';
import { chooseRemote, type ForgeRepository } from './remote.ts';

const PUSH_MS = 300_000;

/** What a pull request is made of, besides what people are shown. */
export interface Pushed extends PushedWorktree {
  base: Oid;
  tree: Oid;
  forge?: ForgeRepository;
}

/**
 * Pushes all work of a worktree to a branch of its own at a remote, as one commit on its base. What was pushed before stays: a
 * later push is a commit on top of it, so nobody has to force anything.
 */
export async function pushWorktree(deps: Deps, id: string, options: PushOptions): Promise<Pushed> {
  refuseBusy(deps, id);
  const row = deps.records.move(id, ['running'], (now) => now);
  const taken = await openConflicts(row);
  const name = options.remote ?? row.pushed?.remote;
  const at = { ...(name !== undefined && { name }), branch: row.base.branch };
  const remote = await chooseRemote(deps.git, deps.checkout, at);
  const made = await commitToPush(deps, row);
  const concerns = [...taken, ...made.judges.map((path) => `edits what judges or executes: ${path}`)];
  if (concerns.length > 0 && !options.yes) {
    const listed = concerns.slice(0, 20).join('; ');
    throw new ReefError('accept_needs_consent', `Pushing needs your consent: ${listed}.`, { details: { concerns } });
  }
  const branch = checkBranch(options.branch ?? row.pushed?.branch ?? row.branch.replace(/\/tip$/, ''));
  await remember(deps, id, made.commit); // before it is known elsewhere
  const said = await push(deps, { remote: remote.name, commit: made.commit, branch });
  const pushed = { remote: remote.name, branch, commit: made.commit, tree: made.tree };
  deps.records.change(id, (now) => ({ ...now, pushed }));
  const address = addressIn(said);
  return {
    ...{ id, remote: remote.name, branch, commit: made.commit, noted: concerns },
    status: made.isNew ? 'pushed' : 'current',
    ...(address !== undefined && { address }),
    ...{ base: made.base, tree: made.tree },
    ...(remote.forge && { forge: remote.forge }),
  };
}

async function commitToPush(deps: Deps, row: StoredWorktree) {
  const { git, checkout } = deps;
  const worktree = await openWorktree(deps, folderOf(row));
  const signature = await signatureOf(deps);
  const message = `${row.title}\n\nReef-Task: ${row.taskId}\n`;
  const tip = await commitWork(deps, { row, worktree, message, signature });
  const target = await currentTip(git, checkout, row.base);
  const base = (await mergeBase(git, worktree, [tip.commit, target])) ?? row.base.commit;
  const judges = await editedJudges(git, worktree, await diffTrees(git, worktree, { from: base, to: tip.tree }));
  const { pushed } = row;
  const about = { base, tree: tip.tree, judges };
  if (!pushed) {
    if (tip.tree === (await readTree(git, worktree, base)))
      throw new ReefError('nothing_to_push', `The worktree ${row.id} changes nothing.`);
    const commit = await commitTree(git, worktree, { tree: tip.tree, parents: [base], message, signature });
    return { ...about, commit, isNew: true };
  }
  const hasBase = await isAncestor(git, worktree, { of: pushed.commit, commit: base });
  if (tip.tree === pushed.tree && hasBase) return { ...about, commit: pushed.commit, isNew: false };
  const parents = [pushed.commit, ...(hasBase ? [] : [base])];
  return {
    ...about,
    isNew: true,
    commit: await commitTree(git, worktree, { tree: tip.tree, parents, message, signature }),
  };
}

/** The next push builds on this commit, so it may not be forgotten. */
async function remember({ git, checkout }: Deps, id: string, to: Oid): Promise<void> {
  const ref = refs.pushed(id);
  const from = (await readRef(git, checkout, ref)) ?? null;
  if (!(await setRef(git, checkout, { ref, to, from })))
    throw new ReefError('git_locked', `${ref} was moved meanwhile.`);
}

/** As the user's own `git push` in the main checkout: with their credentials, their hooks and their configuration. */
async function push(deps: Deps, { remote, commit, branch }: { remote: string; commit: Oid; branch: string }) {
  const refspec = `${commit}:refs/heads/${branch}`;
  const args = ['push', '--porcelain', '--end-of-options', remote, refspec];
  const said = await deps.asUser('git', args, { timeoutMs: PUSH_MS });
  if (!said) throw new ReefError('git_missing', 'git is not on your PATH.');
  const { code, timedOut, stdout, stderr } = said;
  if (code === 0) return stderr;
  const lines = [...stderr.split('\n'), ...stdout.split('\n').filter((line) => line.startsWith('!'))];
  const why = timedOut
    ? `it took longer than ${PUSH_MS / 1_000} s`
    : lines
        .filter((line) => line !== '')
        .slice(-12)
        .join('\n');
  const own = `git -C ${deps.checkout.toplevel} push ${remote} ${refspec}`;
  throw new ReefError('push_refused', `Not pushed to ${remote}: ${why || `git ended with ${code}`}\nBy hand: ${own}`);
}

/** Forges answer a push of a new branch with the address at which a pull request is opened. */
function addressIn(said: string): string | undefined {
  return /^remote:\s+(https?:\/\/[^\s\p{C}]{1,2000})\s*$/mu.exec(said)?.[1];
}
