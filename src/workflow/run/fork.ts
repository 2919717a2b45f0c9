import type { Json } from '../../protocol/workflow.ts';
import type { StepScope } from '../durable/durable.ts';
import { NOTHING, raised, verdict } from '../walk/amounts.ts';
import type { BranchEnd, ForkOrder, Joined, JoinOutcome } from '../walk/outcomes.ts';
import { BRANCH_BODY, type BranchInput, type BranchRun, type Forked, runBudget } from './branch-run.ts';
import type { Worktree } from './ports.ts';
import { recordStep, type Tried, tried } from './visit-step.ts';

type Ends = Forked['ends'];

export const BRANCHES_AT_ONCE = 4;

/** Branches run in parallel. Their work is joined in declared order, not by time. */
export async function fork(at: BranchRun, order: ForkOrder): Promise<JoinOutcome> {
  const { places, ends } = at.forks.get(order.key) ?? (await runFork(at, order));
  at.forks.set(order.key, { places, ends });
  const merged = 'ok' in places ? await mergeBack(at, { order, ends, places: places.ok }) : places;
  const { captures, clock } = at.ports;
  const step = { key: joinKey(order), input: order.branches.map(({ branch }) => branch) };
  const joined = await recordStep(at.durable, step, async (scope): Promise<Joined> => {
    const isSettled = !('ok' in merged && merged.ok.conflict);
    const carried = isSettled ? await carryJoined(at, order, scope) : {};
    if (isSettled && 'ok' in places && order.isolation === 'worktree') await dropPlaces(at, places.ok);
    return {
      at: clock.now().toISOString(),
      tree: (await captures.treeId(at.input.worktree.path)) ?? null,
      winner: order.join === 'any' ? ends.findIndex((end) => end?.outcome === 'success') : -1,
      ...('crash' in merged ? { failure: merged.crash.message } : merged.ok),
      ...carried,
      ...exhausted(at, order),
    };
  });
  return joinOutcome(ends, joined);
}

/** Where runs move, what was joined is brought to where other hosts find it. */
async function carryJoined(
  { ports, input, walk }: BranchRun,
  { key, block, visit }: ForkOrder,
  { attempt, abort }: StepScope,
): Promise<{ checkpoint?: string }> {
  if (!ports.carry || walk.tree === null) return {};
  const { runId } = input.run;
  const name = key.replaceAll(/[^\w.-]/g, '-');
  const ref = `refs/reef/checkpoints/${runId}/${name}`;
  const { commit } = await ports.captures.checkpoint(input.worktree.path, ref, `${block}, visit ${visit}, joined`);
  const of = { runId, branch: walk.branch, key: `${key}/join`, visit: `${block}.${visit}.join`, attempt };
  await ports.carry({ ...of, from: walk.checkpoint, commit, abort });
  return { checkpoint: commit };
}

async function runFork(at: BranchRun, order: ForkOrder): Promise<Forked> {
  const places = await branchPlaces(at, order);
  return { places, ends: 'ok' in places ? await runBranches(at, order, places.ok) : order.branches.map(() => null) };
}

/** Merged ones are gone; cancelled and lost ones go too, and their work stays on its ref. What fails goes with the run. */
async function dropPlaces({ ports }: BranchRun, places: readonly Worktree[]): Promise<void> {
  for (const { id } of places) await ports.worktrees.discard(id).catch(() => undefined);
}

export function joinKey({ key, again = 0 }: ForkOrder): string {
  return `${key}/join${again === 0 ? '' : `-${again + 1}`}`;
}

/** With `join: any` only the first success counts. */
export function joinOutcome(ends: Ends, { winner, ...joined }: Joined): JoinOutcome {
  const isBeaten = (end: BranchEnd | null, index: number) =>
    winner >= 0 && index !== winner && end?.outcome === 'success';
  return { ...joined, ends: ends.map((end, index) => (isBeaten(end, index) ? null : end)) };
}

function exhausted({ input, ledger }: BranchRun, { grants }: ForkOrder): { exhausted?: string } {
  const limit = raised(runBudget(input.run), grants);
  const { exhausted: what } = verdict(limit, ledger.spent(input.run.runId), NOTHING);
  return what === undefined ? {} : { exhausted: what };
}

async function branchPlaces({ durable, ports, input }: BranchRun, order: ForkOrder): Promise<Tried<Worktree[]>> {
  if (order.isolation === 'shared') return { ok: order.branches.map(() => input.worktree) };
  const places: Worktree[] = [];
  for (const { branch } of order.branches) {
    const step = { key: `${order.key}/${branch}/worktree`, input: input.worktree };
    const made = await recordStep(durable, step, (scope) =>
      tried(ports, scope, () => ports.worktrees.branchOff(scope.effectKey, input.worktree)),
    );
    if ('crash' in made) return made;
    places.push(made.ok);
  }
  return { ok: places };
}

async function runBranches(at: BranchRun, order: ForkOrder, places: Worktree[]): Promise<Ends> {
  const { run, worktree } = at.input;
  const over = new AbortController();
  const ends: Ends = order.branches.map(() => null);
  const waiting = order.branches.map((start, index) => ({ start, index }));
  const lane = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const branch: BranchInput = { run, worktree: places[next.index] ?? worktree, start: next.start };
      const input = branch as unknown as Json;
      const ended = await at.durable.child(next.start.branch, BRANCH_BODY, input, { abort: over.signal });
      const end = (ended as unknown as BranchEnd | undefined) ?? null;
      ends[next.index] = end;
      if (end) at.ledger.close(run.runId, next.start.branch, end.spent);
      const isDecided = end?.outcome === 'aborted' || (order.join === 'any' && end?.outcome === 'success');
      if (isDecided) over.abort(new Error('another branch decided the fork'));
    }
  };
  await Promise.all(Array.from({ length: BRANCHES_AT_ONCE }, lane));
  return ends;
}

async function mergeBack(
  { durable, ports, input }: BranchRun,
  { order, ends, places }: { order: ForkOrder; ends: Ends; places: Worktree[] },
): Promise<Tried<Pick<Joined, 'conflict'>>> {
  if (order.isolation === 'shared') return { ok: {} };
  for (const [index, { branch }] of order.branches.entries()) {
    const place = places[index];
    if (ends[index]?.outcome !== 'success' || !place) continue;
    const step = { key: `${order.key}/${branch}/merge${order.again ? `-${order.again + 1}` : ''}`, input: place };
    const merged = await recordStep(durable, step, (scope) =>
      tried(ports, scope, () => ports.worktrees.mergeBack(place, input.worktree)),
    );
    if ('crash' in merged) return merged;
    const { conflicts } = merged.ok;
    if (conflicts.length > 0) return { ok: { conflict: { branch, files: conflicts, path: place.path } } };
    if (order.join === 'any') break;
  }
  return { ok: {} };
}
