import { ReefError } from '../../protocol/errors.ts';
import type { Amounts, Json } from '../../protocol/workflow.ts';
import type { Durable, StepScope } from '../durable/durable.ts';
import { canWrite } from '../language/names.ts';
import { type ContextSegment, type StoredSegment, storeSegment } from '../memory/segment.ts';
import { raised, verdict } from '../walk/amounts.ts';
import type { StopReason, VisitOrder, VisitOutcome } from '../walk/outcomes.ts';
import { type BlockAt, type BranchRun, runBudget } from './branch-run.ts';
import type { WorkflowPorts } from './ports.ts';

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 300_000;
const MOST_TRIES = 10;

/** What went wrong, as the journal keeps it. */
export interface Crash {
  message: string;
  stack: string;
  /** Present if it is one of Reef's errors. */
  code?: string;
}
export type Tried<T> = { ok: T } | { crash: Crash };

/** A step whose result is JSON. This is the only place that tells the compiler so. */
export function recordStep<T>(
  durable: Durable,
  { key, input }: { key: string; input: unknown },
  fn: (scope: StepScope) => Promise<T>,
): Promise<T> {
  const work = fn as unknown as (scope: StepScope) => Promise<Json>;
  return durable.step(key, input as Json, work) as unknown as Promise<T>;
}

const STOPS: readonly string[] = [
  'context_unavailable',
  'nothing_promoted',
  'remote_unavailable',
] satisfies StopReason[];

/** What a person mends is no crash: the run halts and names it. */
export function crashed({ message, stack, code = '' }: Crash) {
  const segments: [] = [];
  if (STOPS.includes(code)) return { kind: 'stopped', reason: code as StopReason, message, segments } as const;
  return { kind: 'crashed', message, stack, segments } as const;
}

/** A crash is a result too: no run ends because something it called threw. An aborted step has no result. */
export async function tried<T>(
  ports: Pick<WorkflowPorts, 'clock'>,
  { abort }: Pick<StepScope, 'abort'>,
  work: () => Promise<T>,
): Promise<Tried<T>> {
  try {
    return { ok: await withRetries(ports, abort, work) };
  } catch (error) {
    if (abort.aborted) throw error;
    const { message, stack = message } = error instanceof Error ? error : new Error(String(error));
    return { crash: { message, stack, ...(error instanceof ReefError && { code: error.code }) } };
  }
}

/** Tries a retryable error again, with pauses that double up to 5 minutes. */
async function withRetries<T>(
  { clock }: Pick<WorkflowPorts, 'clock'>,
  abort: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  for (let tries = 1, pause = FIRST_PAUSE_MS; ; tries++, pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ReefError && error.retryable) || tries === MOST_TRIES) throw error;
      await clock.sleep(pause, abort);
    }
  }
}

/** The facts of every visit, whatever its result. Called inside its step. */
export async function visitFacts(
  at: BranchRun,
  order: VisitOrder,
  spent: Amounts,
): Promise<Pick<VisitOutcome, 'at' | 'spent' | 'warned' | 'exhausted' | 'stepping'>> {
  const { ports, ledger, input } = at;
  const { runId } = input.run;
  const limit = raised(runBudget(input.run), order.grants.run);
  // What other branches had spent is recorded with this visit, so a replay agrees.
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

/** The payload only grows: known ids, also of projections, are not new. */
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

/** Captures the files after a writing block. The next block begins with that tree. */
export async function checkpoint(
  { ports, input, walk }: BranchRun,
  order: VisitOrder,
  { worker }: BlockAt,
  { attempt, abort }: Pick<StepScope, 'attempt' | 'abort'>,
): Promise<{ tree?: string; checkpoint?: string }> {
  const { path } = input.worktree;
  if (!canWrite(worker, input.run.manifest.workers) || walk.tree === null) return {};
  const name = walk.branch === 'main' ? `${order.n}` : `${walk.branch}-${order.n}`;
  const ref = `refs/reef/checkpoints/${input.run.runId}/${name}`;
  const { commit, tree } = await ports.captures.checkpoint(path, ref, `${order.block}, visit ${order.visit}`);
  const of = { runId: input.run.runId, branch: walk.branch, key: order.key, visit: `${order.block}.${order.visit}` };
  await ports.carry?.({ ...of, attempt, from: walk.checkpoint, commit, abort });
  return { tree, checkpoint: commit };
}

/** Names the visit, so that another program cannot take its result for another visit's. */
export function stepInput({ walk, input }: BranchRun, order: VisitOrder, { def }: BlockAt) {
  const { block, visit, part, grants } = order;
  return { block, visit, part, grants, worker: def.worker, segments: walk.segmentCount, worktree: input.worktree.id };
}
