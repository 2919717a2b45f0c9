import type { Checkout } from '../../git/checkout.ts';
import { diffTrees } from '../../git/diff.ts';
import type { Oid } from '../../git/ref-name.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Deps } from '../deps.ts';
import { driftOf } from '../plan/drift.ts';
import type { StoredWorktree } from '../record.ts';
import { editedGateFiles } from './gate-files.ts';
import { type GateVerdict, passesGates, verdictOn } from './gate-verdict.ts';
import { mergeBase } from './merge-base.ts';
import type { Merged, Tip } from './merge-commit.ts';
import { withScratch } from './scratch.ts';

interface Case {
  row: StoredWorktree;
  worktree: Checkout;
  onto: Oid;
  tip: Tip;
  merged: Merged;
  /** The user has read what is listed and wants it. */
  yes: boolean;
}

/**
 * May this be merged? The gates must have passed on the very tree, and on the merged one where the target has moved.
 * What needs a person's consent is listed as a whole. Returns what is worth knowing.
 */
export async function judge(deps: Deps, { row, worktree, onto, tip, merged, yes }: Case): Promise<string[]> {
  const verdict = ownVerdict(deps, row.id, tip.tree);
  const concerns = await concernsOf(deps, { row, worktree, onto, tip, verdict });
  const listed = Object.values(concerns).flat();
  if (listed.length > 0 && !yes) {
    throw new ReefError('accept_needs_consent', `Accepting needs your consent: ${listed.slice(0, 20).join('; ')}.`, {
      details: concerns,
    });
  }
  if (verdict.state === 'passed' && merged.tree !== tip.tree) await judgeMerged(deps, row.id, merged);
  return [...listed, ...verdict.notRun.map((gate) => `gate not run: ${gate}`)];
}

function ownVerdict(deps: Deps, id: string, tree: Oid): GateVerdict {
  const verdict = verdictOn(deps, id, tree);
  if (verdict.state === 'passed' || verdict.state === 'none') return verdict;
  throw new ReefError('gates_stale', `The gates have not passed on the tree ${tree} (${verdict.state}).`, {
    details: { tree, state: verdict.state },
  });
}

async function judgeMerged(deps: Deps, id: string, { commit, tree }: Merged): Promise<void> {
  if (verdictOn(deps, id, tree).state === 'passed') return;
  const isPassed = await withScratch(deps, { id, commit }, (path) => passesGates(deps, id, path));
  if (!isPassed) throw new ReefError('gates_failed', `The gates fail on the merged tree ${tree}.`);
}

async function concernsOf(
  { git, fold }: Deps,
  { row, worktree, onto, tip, verdict }: Omit<Case, 'merged' | 'yes'> & { verdict: GateVerdict },
) {
  const from = (await mergeBase(git, worktree, [onto, tip.commit])) ?? row.base.commit;
  const changes = await diffTrees(git, worktree, { from, to: tip.commit });
  const paths = changes.flatMap(({ path, from: old }) => (old === undefined ? [path] : [path, old]));
  const { unplanned } = driftOf(row.changePlan, paths, fold);
  const gateFiles = await editedGateFiles(git, worktree, changes);
  return {
    waived: verdict.waived.map((gate) => `gate waived: ${gate}`),
    drift: unplanned.map((path) => `not planned: ${path}`),
    gateFiles: gateFiles.map((path) => `edits what judges it: ${path}`),
  };
}
