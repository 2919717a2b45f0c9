import { commitTree } from '../../git/commit.ts';
import { checkOid, worktreeBranch } from '../../git/ref-name.ts';
import { setRef } from '../../git/refs.ts';
import { readRef, readTree } from '../../git/repository.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { PlanEntry } from '../../protocol/worktrees.ts';
import type { Deps } from '../deps.ts';
import { refs } from '../layout.ts';
import { freshFields, type StoredWorktree } from '../records.ts';
import type { Base } from './checks.ts';

/** Work of another host, whose commits are here already. */
export interface BroughtTask {
  taskId: string;
  title: string;
  base: Base;
  plan: PlanEntry[];
  group?: string;
  /** A capture of its files, made on the other host; undefined: it begins with its base. */
  from: string | undefined;
}

/** Enters it as a worktree that is to be made from a capture, whoever made that. */
export async function enterBrought(
  deps: Deps,
  { id, from, base, title, taskId, plan, group }: BroughtTask & { id: string },
): Promise<{ row: StoredWorktree; isNew: boolean }> {
  const known = deps.records.byTask(taskId);
  if (known) return { row: known, isNew: false };
  const ref = refs.work(id);
  const commit = from === undefined ? await captureOfBase(deps, base.commit) : checkOid(from);
  const before = (await readRef(deps.git, deps.checkout, ref)) ?? null;
  if (!(await setRef(deps.git, deps.checkout, { ref, to: commit, from: before }))) {
    throw new ReefError('git_locked', `${ref} was moved by somebody else.`);
  }
  const row: StoredWorktree = {
    ...freshFields(deps.clock.now()),
    ...{ id, taskId, title, base, changePlan: plan, status: 'creating', anyway: true },
    branch: worktreeBranch(title, id),
    intent: { kind: 'create', by: deps.self, step: 'claimed', keptOn: ref },
    ...(group !== undefined && { group }),
  };
  return deps.records.transact(() => {
    const isNew = deps.records.insert(row);
    return { row: deps.records.byTask(taskId) ?? row, isNew };
  });
}

async function captureOfBase({ git, checkout, clock }: Deps, base: string): Promise<string> {
  const tree = await readTree(git, checkout, base);
  const signature = { name: 'Reef', email: 'reef@localhost.invalid', at: clock.now() };
  return commitTree(git, checkout, { tree, parents: [base], message: 'Reef begins again', signature });
}
