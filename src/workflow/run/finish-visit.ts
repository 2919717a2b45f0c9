import type { Amounts } from '../../protocol/workflow.ts';
import { canWrite } from '../language/worker-name.ts';
import { type ContextSegment, type StoredSegment, storeSegment } from '../memory/segment.ts';
import type { VisitOrder, VisitOutcome } from '../walk/outcomes.ts';
import type { BlockAt, BranchRun } from './branch-run.ts';
import { raised, verdict } from './ledger.ts';
import { runBudget } from './run-input.ts';

/** What is known of every visit when it ends, whatever came of it. Inside its step. */
export async function visitFacts(
  at: BranchRun,
  order: VisitOrder,
  spent: Amounts,
): Promise<Pick<VisitOutcome, 'at' | 'spent' | 'warned' | 'exhausted' | 'stepping'>> {
  const { ports, ledger, input } = at;
  const { runId } = input.run;
  const limit = raised(runBudget(input.run), order.grants.run);
  // Other branches count too: what they had spent when this visit ended is part of its record, so a replay agrees.
  const { warned, exhausted } = verdict(limit, ledger.spent(runId, order.key), spent);
  const stepping = await ports.steppingOf(runId);
  return {
    at: ports.clock.now().toISOString(),
    spent,
    ...(warned.length > 0 && { warned }),
    ...(exhausted !== undefined && { exhausted }),
    ...(stepping !== undefined && { stepping }),
  };
}

/** The payload only grows: ids it knows, projections among them, are not new. */
export function newSegments(shown: readonly ContextSegment[], given: readonly ContextSegment[]): ContextSegment[] {
  const known = new Set(shown.map(({ id }) => id));
  return given.filter(({ id }) => {
    const isNew = !known.has(id);
    known.add(id);
    return isNew;
  });
}

export function keep({ ports }: BranchRun, segments: readonly ContextSegment[]): StoredSegment[] {
  return segments.map((segment) => storeSegment(segment, ports.blobs));
}

/** Each writing block ends with a capture. The tree it finds is where the next block begins. */
export async function checkpoint(
  { ports, input, walk }: BranchRun,
  order: VisitOrder,
  { worker }: BlockAt,
): Promise<{ tree?: string; checkpoint?: string }> {
  const { path } = input.worktree;
  if (!canWrite(worker, input.run.manifest.workers) || walk.tree === null) return {};
  const name = walk.branch === 'main' ? `${order.n}` : `${walk.branch}-${order.n}`;
  const ref = `refs/reef/checkpoints/${input.run.runId}/${name}`;
  const { commit, tree } = await ports.captures.checkpoint(path, ref, `${order.block}, visit ${order.visit}`);
  return { tree, checkpoint: commit };
}

/** The step of a visit names what it was for, so that another program cannot take its result for another visit's. */
export function stepInput({ walk, input }: BranchRun, order: VisitOrder, { def }: BlockAt) {
  const { block, visit, part, grants } = order;
  return { block, visit, part, grants, worker: def.worker, segments: walk.segmentCount, worktree: input.worktree.id };
}
