import type { Checkout } from '../../git/checkout.ts';
import { diffTrees } from '../../git/diff.ts';
import type { Oid } from '../../git/ref-name.ts';
import { ReefError } from '../../protocol/errors.ts';
import { stopsMerge } from '../../protocol/stops-merge.ts';
import type { JudgedGate } from '../../protocol/worktrees.ts';
import type { Deps } from '../deps.ts';
import { driftOf } from '../plan.ts';
import type { StoredWorktree } from '../records.ts';
import { type Bench, judgeTree, notConfigured, openBench, verdictOn } from './gates.ts';
import { type Merged, mergeBase, type Tip } from './merge-commit.ts';
import { editedJudges } from './what-judges.ts';

interface Case {
  row: StoredWorktree;
  worktree: Checkout;
  onto: Oid;
  tip: Tip;
  merged: Merged;
  /** The branch to merge into. */
  target: string;
  /** The user has read the list and wants the merge. */
  yes: boolean;
}

/**
 * Whether this may be merged. Lists everything that needs a person's consent; then the gates must pass on exactly this tree,
 * and on the merged one if the target has moved. Those that have not judged it yet run now. Returns what a person should know.
 */
export async function judge(deps: Deps, wanted: Case): Promise<string[]> {
  const { row, onto, tip, merged, target, yes } = wanted;
  const { bench, remarks } = await benchFor(deps, row);
  const waived = bench.gates.filter((gate) => verdictOn(deps, bench, gate, tip.tree)?.result === 'waived');
  const concerns = await concernsOf(deps, wanted, waived);
  const listed = Object.values(concerns).flat();
  if (listed.length > 0 && !yes) throw needsConsent(listed, concerns);
  // The files of a worktree without a run were never judged before: what would be merged decides.
  const isOfRun = bench.owner !== row.id;
  const failed: JudgedGate[] = [];
  if (isOfRun || merged.tree === tip.tree)
    failed.push(...(await requirePass(deps, bench, { ...tip, base: row.base.commit, where: 'these files' })));
  if (merged.tree !== tip.tree) {
    const gates = bench.gates.filter((gate) => !waived.includes(gate));
    const where = `these files merged into ${target}`;
    failed.push(...(await requirePass(deps, { ...bench, gates }, { ...merged, base: onto, where, target })));
  }
  const old = failed.flatMap(({ gate, compared }) =>
    compared ? [`${gate}: ${compared.already.slice(0, 10).join(', ')}`] : [],
  );
  const already = [...new Set(old)].map((what) => `already failing before the change: ${what}`);
  if (already.length > 0 && !yes) throw needsConsent(already, { already });
  const shown = failed.filter(({ blocks }) => blocks === false);
  const notes = shown.map(({ gate }) => `gate failed, which does not stop a merge: ${gate}`);
  return [...listed, ...remarks, ...already, ...new Set(notes)];
}

function needsConsent(listed: readonly string[], details: Record<string, string[]>): ReefError {
  const what = `Accepting needs your consent: ${listed.slice(0, 20).join('; ')}.`;
  return new ReefError('accept_needs_consent', what, { details });
}

/** A repository that is not trusted has no gates of its own, which a person is told. */
async function benchFor(deps: Deps, row: StoredWorktree): Promise<{ bench: Bench; remarks: string[] }> {
  try {
    const bench = await openBench(deps, row);
    return { bench, remarks: notConfigured(bench).map((gate) => `gate not run: ${gate}`) };
  } catch (error) {
    if (!(error instanceof ReefError) || error.code !== 'repo_untrusted') throw error;
    const remark = 'no gate ran, because this repository is not trusted: `reef trust` shows what it would run';
    return { bench: { row, gates: [], owner: row.id }, remarks: [remark] };
  }
}

/** Returns what failed and does not stop the merge. */
async function requirePass(
  deps: Deps,
  bench: Bench,
  { commit, tree, base, where, target }: Merged & { base: Oid; where: string; target?: string },
): Promise<JudgedGate[]> {
  const bad = (await judgeTree(deps, bench, { commit, tree, base })).filter(({ result }) => result === 'failed');
  const failed = bad.filter(stopsMerge);
  if (failed.length === 0) return bad;
  const { id, path } = bench.row;
  const names = failed.map(({ gate }) => gate).join(', ');
  const bring = target === undefined ? '' : `bring it in with \`git -C ${path} merge ${target}\`, `;
  const next = `To go on, ${bring}mend it in ${path}, then: reef accept ${id}`;
  throw new ReefError('gates_failed', `Not merged: ${names} failed on ${where}. ${next}`, {
    details: { tree, ...Object.fromEntries(failed.map(({ gate, log }) => [gate, log ?? ''])) },
  });
}

async function concernsOf(
  { git, fold }: Deps,
  { row, worktree, onto, tip }: Case,
  waived: readonly { gate: string }[],
) {
  const from = (await mergeBase(git, worktree, [onto, tip.commit])) ?? row.base.commit;
  const changes = await diffTrees(git, worktree, { from, to: tip.commit });
  const paths = changes.flatMap(({ path, from: old }) => (old === undefined ? [path] : [path, old]));
  const { unplanned } = driftOf(row.changePlan, paths, fold);
  const gateFiles = await editedJudges(git, worktree, changes);
  return {
    waived: waived.map(({ gate }) => `gate waived: ${gate}`),
    drift: unplanned.map((path) => `not planned: ${path}`),
    gateFiles: gateFiles.map((path) => `edits what judges or executes: ${path}`),
  };
}
