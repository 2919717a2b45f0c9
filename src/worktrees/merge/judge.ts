import { diffTrees } from '../../git/diff.ts';
import type { Place } from '../../git/place.ts';
import type { Oid } from '../../git/ref-name.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { GateVerdict, Parts } from '../parts.ts';
import { driftOf } from '../plan/drift.ts';
import type { StoredWorktree } from '../record.ts';
import { editedGateFiles } from './gate-files.ts';
import { mergeBase } from './merge-base.ts';
import type { Merged, Tip } from './merge-commit.ts';
import { withScratch } from './scratch.ts';

interface Case {
  row: StoredWorktree;
  worktree: Place;
  onto: Oid;
  tip: Tip;
  merged: Merged;
  /** The user has read what is listed and wants it. */
  yes: boolean;
}

/**
 * May this be merged (T-31)? The gates must have passed on the very tree, and on the merged one where the target has moved.
 * What needs a person's consent is listed as a whole. Returns what is worth knowing.
 */
export async function judge(parts: Parts, { row, worktree, onto, tip, merged, yes }: Case): Promise<string[]> {
  const verdict = await ownVerdict(parts, row.id, tip.tree);
  const concerns = await concernsOf(parts, { row, worktree, onto, tip, verdict });
  const listed = Object.values(concerns).flat();
  if (listed.length > 0 && !yes) {
    throw new ReefError('accept_needs_consent', `Accepting needs your consent: ${listed.slice(0, 20).join('; ')}.`, {
      details: concerns,
    });
  }
  if (verdict.state === 'passed' && merged.tree !== tip.tree) await judgeMerged(parts, row.id, merged);
  return [...listed, ...verdict.notRun.map((gate) => `gate not run: ${gate}`)];
}

async function ownVerdict({ gates }: Parts, id: string, tree: Oid): Promise<GateVerdict> {
  const verdict = (await gates?.verdict(id, tree)) ?? { state: 'none', waived: [], notRun: [] };
  if (verdict.state === 'passed' || verdict.state === 'none') return verdict;
  throw new ReefError('gates_stale', `The gates have not passed on the tree ${tree} (${verdict.state}).`, {
    details: { tree, state: verdict.state },
  });
}

async function judgeMerged(parts: Parts, id: string, { commit, tree }: Merged): Promise<void> {
  const { gates } = parts;
  if (!gates || (await gates.verdict(id, tree)).state === 'passed') return;
  const { state } = await withScratch(parts, { id, commit }, (path) => gates.judge(id, { path, tree }));
  if (state !== 'passed') throw new ReefError('gates_failed', `The gates say ${state} of the merged tree ${tree}.`);
}

async function concernsOf(
  { git, fold }: Parts,
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
