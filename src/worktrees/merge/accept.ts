import { type Advanced, advanceBranch } from '../../git/advance.ts';
import { checkBranch, type Oid } from '../../git/ref-name.ts';
import { setRef } from '../../git/refs.ts';
import { readRef } from '../../git/repository.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Accepted, acceptOptionsSchema, PendingMerge } from '../../protocol/worktrees.ts';
import type { Deps } from '../deps.ts';
import { refuseBusy } from '../keep/put-aside.ts';
import { dropRefs, finishRemoval } from '../keep/remove.ts';
import { refs } from '../layout.ts';
import { type StoredWorktree, without } from '../records.ts';
import { folderOf, openWorktree, patiently, withRegistry } from '../registry.ts';
import { stampOf } from '../stamp.ts';
import { openConflicts } from './conflict.ts';
import { judge } from './judge.ts';
import { commitMerge, commitWork, signatureOf } from './merge-commit.ts';

type Options = ReturnType<typeof acceptOptionsSchema.parse>;

/** How often somebody else may move the target while we merge. */
const MOST_MOVES = 5;

/** The first note of a merge that brought nothing: no gate has to judge it. */
const NOTHING_NEW = 'there was nothing to merge: the branch has all of it already';

/**
 * Merges a worktree into its target, one merge at a time per target. Until the target moves, only Reef's own refs change,
 * so a failure leaves the worktree running.
 */
export async function accept(deps: Deps, id: string, options: Options): Promise<Accepted> {
  const before = deps.records.get(id);
  if (before.status === 'accepted' && before.merged) {
    return { status: 'merged', commit: before.merged.commit, noted: [] };
  }
  const target = checkBranch(targetOf(before, options));
  return deps.locks.run(`target ${target}`, async () => {
    refuseBusy(deps, id);
    const row = deps.records.move(id, ['running', 'accepting'], (now) => ({ ...now, status: 'accepting' }));
    try {
      await deps.at('accept.begun');
      return await mergeInto(deps, { row, target, options });
    } catch (error) {
      await giveUp(deps, before, error);
      throw error;
    }
  });
}

/** A merge that waits for a clean checkout keeps waiting after a passing fault, such as a lock of the user's git. */
async function giveUp(deps: Deps, { id, pending }: StoredWorktree, error: unknown): Promise<void> {
  if (pending === undefined || !(error instanceof ReefError && error.retryable)) return takeBack(deps, id);
  deps.records.change(
    id,
    (now) => (now.status === 'accepting' ? { ...without(now, 'intent'), pending } : now) as StoredWorktree,
  );
}

export function targetOf(row: StoredWorktree, { into }: Pick<Options, 'into'>): string {
  const target = into ?? row.pending?.target ?? row.base.branch;
  if (target !== '') return target;
  throw new ReefError('target_unknown', `The worktree ${row.id} was made from a commit, not from a branch.`);
}

/** The worktree is `running` again, and a waiting merge is dropped. */
export async function takeBack(deps: Deps, id: string): Promise<void> {
  await dropRefs(deps, [refs.accepted(id)]);
  deps.records.change(id, (now) => {
    if (now.status !== 'accepting') return now;
    return { ...without(now, 'intent', 'pending'), status: 'running' };
  });
}

interface Work {
  row: StoredWorktree;
  target: string;
  options: Options;
}

async function mergeInto(deps: Deps, work: Work): Promise<Accepted> {
  for (let left = MOST_MOVES; left > 0; left--) {
    const done = await tryMerge(deps, work);
    if (done) return done;
  }
  throw new ReefError('target_moved', `${work.target} was moved by somebody else ${MOST_MOVES} times.`);
}

/** Undefined: the target moved meanwhile. */
async function tryMerge(deps: Deps, { row, target, options }: Work): Promise<Accepted | undefined> {
  const { git, checkout, records } = deps;
  const { id } = row;
  const worktree = await openWorktree(deps, folderOf(row));
  const taken = await openConflicts(row);
  if (taken.length > 0 && !options.yes) {
    throw new ReefError('accept_needs_consent', `Look at these files first: ${taken.join('; ')}.`);
  }
  const message = options.message ?? `${row.title}\n\nReef-Task: ${row.taskId}\n`;
  const onto = await readRef(git, checkout, refs.branch(target));
  if (onto === undefined) throw new ReefError('target_unknown', `There is no branch ${target}.`);
  const stamp = await stampOf(git, worktree);
  const signature = await signatureOf(deps);
  const tip = await commitWork(deps, { row, worktree, message, signature });
  refuseOthers(id, tip.tree, options);
  const merged = await commitMerge(deps, worktree, { row, strategy: options.strategy, onto, tip, message, signature });
  await deps.at('accept.committed');
  const noted =
    merged.commit === onto
      ? [NOTHING_NEW]
      : await judge(deps, { row, worktree, onto, tip, merged, target, yes: options.yes });
  const intent = { kind: 'accept', by: deps.self, commit: merged.commit, target, stamp, head: tip.head } as const;
  records.move(id, ['accepting'], (now) => ({ ...now, intent }));
  await deps.at('accept.recorded');
  await point(deps, refs.archive(id), tip.commit);
  await point(deps, refs.accepted(id), merged.commit);
  await deps.at('accept.archived');
  const step = { branch: target, from: onto, to: merged.commit };
  const outcome = await advance(deps, step);
  if (outcome.status === 'advanced') {
    await deps.at('accept.advanced');
    deps.edited(deps.checkout.toplevel);
    await finishAccept(deps, id);
    return { status: 'merged', commit: merged.commit, noted };
  }
  if (outcome.status !== 'dirty') return undefined;
  const pending = {
    commit: merged.commit,
    ref: refs.accepted(id),
    target,
    checkout: outcome.checkout,
    files: outcome.files,
  };
  return { ...pend(deps, id, options, pending), noted };
}

/** Who names the files wants these and no others. */
function refuseOthers(id: string, now: Oid, { tree }: Options): void {
  if (tree === undefined || tree === now) return;
  const message = `The files of ${id} have changed since you looked: they were ${tree.slice(0, 12)} and are ${now.slice(0, 12)}.`;
  throw new ReefError('accept_stale', message, { details: { tree: now } });
}

/** A commit to the target between git's look and git's step makes it fail: then the target has moved. */
async function advance(deps: Deps, step: { branch: string; from: Oid; to: Oid }): Promise<Advanced> {
  const { git, checkout } = deps;
  try {
    return await patiently(deps, () => withRegistry(deps, () => advanceBranch(git, checkout, step)));
  } catch (error) {
    const at = await readRef(git, checkout, refs.branch(step.branch));
    if (at === step.to) return { status: 'advanced' };
    if (at !== step.from) return { status: 'moved', commit: at };
    throw error;
  }
}

async function point({ git, checkout }: Deps, ref: string, to: Oid): Promise<void> {
  const from = (await readRef(git, checkout, ref)) ?? null;
  if (!(await setRef(git, checkout, { ref, to, from }))) {
    throw new ReefError('git_locked', `${ref} was moved by somebody else.`);
  }
}

/** The target's checkout has changes: the merge waits on its ref, and nothing there is touched. */
function pend(deps: Deps, id: string, options: Options, pending: Omit<PendingMerge, 'whenClean'>) {
  const { strategy, yes, whenClean, message } = options;
  const kept = { strategy, yes, ...(message !== undefined && { message }) };
  deps.records.move(id, ['accepting'], (now) => ({
    ...without(now, 'intent'),
    status: 'accepting',
    pending: { ...pending, whenClean: whenClean || (now.pending?.whenClean ?? false), options: kept },
  }));
  const { checkout, files, commit, ref } = pending;
  const named = files.length === 0 ? 'an operation under way' : files.slice(0, 20).join(', ');
  deps.announce({ kind: 'pending', worktreeId: id, message: `${checkout} has changes: ${named}.` });
  const command = `reef accept ${id} --when-clean`;
  return { status: 'pending', commit, ref, waiting: { code: 'target_dirty', checkout, files, command } } as const;
}

/** Records the merge first, then removes the worktree. */
export async function finishAccept(deps: Deps, id: string): Promise<void> {
  const done = deps.records.change(id, (now) => {
    if (now.intent?.kind !== 'accept') return now;
    const { commit, target, stamp, head, by } = now.intent;
    const branch = { name: now.branch, at: head };
    return {
      ...without(now, 'intent', 'pending'),
      status: 'accepted',
      endedAt: deps.clock.now().toISOString(),
      merged: { commit, target },
      intent: { kind: 'remove', by, path: folderOf(now), stamp, branch },
    };
  });
  await deps.at('accept.ended');
  deps.released();
  deps.announce({ kind: 'merged', worktreeId: id, message: `${done.title} is in ${done.merged?.target ?? ''}.` });
  await tidyUp(deps, id);
}

/** The merge stands whatever happens here; the next reconcile takes up what is left. */
async function tidyUp(deps: Deps, id: string): Promise<void> {
  try {
    await finishRemoval(deps, id);
  } catch (error) {
    deps.log.warn('an accepted worktree could not be removed', { worktree: id, error });
  }
}
