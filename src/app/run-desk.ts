import { z } from 'zod';
import type { Clock } from '../base/clock.ts';
import type { ChangeSignal } from '../events/change-signal.ts';
import { ReefError } from '../protocol/errors.ts';
import type { Caller, OperationOutput, OperationRequest, RunCore } from '../protocol/operations.ts';
import type { RunSummary } from '../protocol/run-operations.ts';
import type { Halt, Json } from '../protocol/workflow.ts';
import type { Store } from '../store/store.ts';
import { readResult } from '../workflow/agent/read-result.ts';
import type { WorkflowRuns } from '../workflow/run/runs.ts';
import type { GitWorktreeManager } from '../worktrees/manager.ts';
import type { CallLog } from './call-log.ts';
import { type BookedRun, findRun, findTheirRun, type RunOrder } from './run-book.ts';
import type { RunOrders } from './run-orders.ts';
import type { RunStarter } from './run-starter.ts';
import type { RunViews } from './run-views.ts';

interface RunDeskParts {
  store: Store;
  clock: Clock;
  signal: ChangeSignal;
  runs: WorkflowRuns;
  orders: RunOrders;
  starter: RunStarter;
  views: RunViews;
  worktrees: GitWorktreeManager;
  calls: CallLog;
  newId(): string;
  /** The place of a job that waits for its run, lent to the agents of that run. */
  lend(jobId: string): () => void;
  redact<T>(value: T): T;
}

/** The part of a block's result schema that says how it may end. */
const resultShape = z.object({ properties: z.object({ signal: z.object({ enum: z.array(z.string()) }) }) });

const SHOWN = 20;
const LOOK_AGAIN_MS = 1_000;

/** Every operation on runs, for every surface. */
export class RunDesk implements RunCore {
  readonly #parts: RunDeskParts;

  constructor(parts: RunDeskParts) {
    this.#parts = parts;
  }

  /** The order is stored before anything is made for it, so a repeat with the same key finds it. */
  async run(request: OperationRequest<'run'>, caller: Caller): Promise<RunSummary> {
    const { store, starter } = this.#parts;
    const known = request.key === undefined ? undefined : store.runs.byKey<RunOrder>(request.key);
    if (known) return this.#parts.views.summary(known);
    const doc = await this.#parts.orders.take(request, caller);
    const booked: BookedRun = { id: this.#parts.newId(), worktreeId: '', state: 'waiting', doc };
    const before = store.commit(() => this.#book(booked, request.key));
    if (before) return this.#parts.views.summary(before);
    try {
      const worktreeId = await starter.house(booked);
      const run = { ...booked, worktreeId };
      starter.begin(run);
      return this.#parts.views.summary(run);
    } catch (error) {
      store.commit(() => store.runs.remove(booked.id));
      throw error;
    }
  }

  async runs({ all }: OperationRequest<'runs'>, caller: Caller): Promise<OperationOutput<'runs'>> {
    return { runs: await this.#parts.views.list(all ? 1_000 : SHOWN, caller) };
  }

  async run_status(request: OperationRequest<'run_status'>, caller: Caller, signal: AbortSignal) {
    if (request.id === undefined) return { runs: await this.#parts.views.list(SHOWN, caller), view: null };
    const { id } = findTheirRun(this.#parts.store, request.id, caller);
    const { jobId } = caller;
    const takeBack = jobId === undefined || request.waitMs === 0 ? undefined : this.#parts.lend(jobId);
    try {
      return await this.#await(id, request, signal);
    } finally {
      takeBack?.();
    }
  }

  async #await(
    id: string,
    request: Pick<OperationRequest<'run_status'>, 'waitMs' | 'until' | 'after'>,
    signal: AbortSignal,
  ): Promise<OperationOutput<'run_status'>> {
    const { clock } = this.#parts;
    const deadline = clock.monotonicMs() + request.waitMs;
    for (;;) {
      const { summary, view } = await this.#parts.views.look(findRun(this.#parts.store, id));
      const left = deadline - clock.monotonicMs();
      const isNews = request.after !== undefined && (view?.seq ?? 0) > request.after;
      if (!goesOn(summary, request.until) || isNews || left <= 0 || signal.aborted) {
        return this.#parts.redact({ runs: [summary], view: view ?? null });
      }
      await this.#parts.signal.next(Math.min(left, LOOK_AGAIN_MS), signal);
    }
  }

  async run_control(request: OperationRequest<'run_control'>, caller: Caller): Promise<RunSummary> {
    const run = findRun(this.#parts.store, request.id);
    switch (request.verb) {
      case 'hold':
        await this.#parts.worktrees.hold(run.worktreeId);
        break;
      case 'step':
      case 'go':
        await this.#parts.runs.setStepping(run.id, request.verb === 'step');
        break;
      case 'abort':
        await this.abort(run, request, caller);
        break;
      default:
        await this.#answer(run, { ...request, verb: request.verb }, caller);
    }
    return this.#parts.views.summary(findRun(this.#parts.store, run.id));
  }

  /** Ends its agents and nothing else: the worktree stays as it is (W-31). */
  async abort(
    run: BookedRun,
    { guidance }: { guidance?: string | undefined },
    caller: Pick<Caller, 'by'>,
  ): Promise<void> {
    const { store, runs, worktrees } = this.#parts;
    if (run.state === 'over') throw new ReefError('run_not_halted', `The run ${run.id} is over.`);
    if (run.state === 'begun') {
      await runs.cancel(run.id, guidance ?? `aborted by ${caller.by}`);
      return;
    }
    store.commit(() => store.runs.move(run.id, 'over'));
    if (run.worktreeId !== '') await worktrees.discard(run.worktreeId);
  }

  async run_replay({ id }: OperationRequest<'run_replay'>): Promise<OperationOutput<'run_replay'>> {
    const run = findRun(this.#parts.store, id);
    const { walked = null, ...rest } = await this.#parts.runs.replay(run.id);
    return { runId: run.id, walked, ...rest };
  }

  /** Checked at the call, so that the agent corrects itself in the same turn (W-61). */
  async block_result(request: OperationRequest<'block_result'>, caller: Caller): Promise<{ taken: true }> {
    const { store } = this.#parts;
    const block = caller.jobId === undefined ? undefined : store.blocks.get(caller.jobId);
    if (!block) throw new ReefError('not_a_block', 'You do not work on a block of a workflow.');
    const { signal } = resultShape.parse(block.schema).properties;
    const read = readResult({ toolResult: request as Json, text: '' }, { signals: signal.enum });
    if (!read.ok) {
      throw new ReefError('result_invalid', `The result cannot be used: ${read.faults.join('; ')}.`, {
        details: { faults: read.faults },
      });
    }
    store.commit(() => store.blocks.setResult(block.jobId, request as Json));
    return { taken: true };
  }

  async calls(request: OperationRequest<'calls'>): Promise<OperationOutput<'calls'>> {
    return { calls: this.#parts.redact(this.#parts.calls.list(request)) };
  }

  async call_rerun(request: OperationRequest<'call_rerun'>, caller: Caller): Promise<OperationOutput<'call_rerun'>> {
    return this.#parts.redact(await this.#parts.calls.rerun(request, caller));
  }

  /** Ended twice is ended once, as with jobs. */
  async end(run: BookedRun, by: string): Promise<RunSummary> {
    if (run.state !== 'over') await this.abort(run, {}, { by });
    return this.#parts.views.summary(findRun(this.#parts.store, run.id));
  }

  /** One that cannot be ended keeps none of the others. */
  async endOf(jobId: string): Promise<void> {
    const theirs = this.#parts.store.runs.open<RunOrder>().filter(({ doc }) => doc.leave.parentId === jobId);
    const ends = await Promise.allSettled(theirs.map((run) => this.end(run, `the end of ${jobId}`)));
    const failed = ends.find((end) => end.status === 'rejected');
    if (failed) throw failed.reason;
  }

  async endIn(worktreeId: string): Promise<void> {
    const { store, runs } = this.#parts;
    for (const { id, state } of store.runs.byWorktree<RunOrder>(worktreeId)) {
      if (state === 'begun') await runs.cancel(id, 'its worktree ends');
      if (state === 'waiting') store.commit(() => store.runs.move(id, 'over'));
    }
  }

  /** Looked up and entered in one transaction: of two at once with one key the second finds the first. */
  #book(run: BookedRun, key: string | undefined): BookedRun | undefined {
    const { runs } = this.#parts.store;
    const before = key === undefined ? undefined : runs.byKey<RunOrder>(key);
    if (!before) runs.insert(run, key);
    return before;
  }

  async #answer(
    run: BookedRun,
    request: OperationRequest<'run_control'> & { verb: 'approve' | 'resume' | 'retry' | 'skip' },
    caller: Caller,
  ): Promise<void> {
    const { worktrees, runs } = this.#parts;
    if (run.state === 'waiting')
      throw new ReefError('run_not_halted', `The run ${run.id} does not wait for an answer.`);
    const { verb, guidance, signal, key } = request;
    const { block, visit, branch } = chooseHalt((await this.#parts.views.view(run))?.halts ?? [], request);
    if ((await worktrees.view(run.worktreeId)).status === 'held') await worktrees.reinflate(run.worktreeId);
    const said = { ...(guidance !== undefined && { guidance }), ...(signal !== undefined && { signal }) };
    const how = { by: caller.by, ...(key !== undefined && { key }) };
    await runs.answer(run.id, { block, visit, branch, verb, ...said }, how);
  }
}

function goesOn({ status }: RunSummary, until: OperationRequest<'run_status'>['until']): boolean {
  const asks = status === 'awaiting_input' || status === 'halted';
  return status === 'queued' || status === 'running' || (asks && until === 'done');
}

/** One that names its moment is passed on even if nothing waits there: it may have been answered before (W-32). */
function chooseHalt(
  halts: readonly Halt[],
  { block, visit, branch }: { block?: string | undefined; visit?: number | undefined; branch?: string | undefined },
): Pick<Halt, 'block' | 'visit' | 'branch'> {
  const fitting = halts.filter(
    (halt) =>
      (block === undefined || halt.block === block) &&
      (visit === undefined || halt.visit === visit) &&
      (branch === undefined || halt.branch === branch),
  );
  const [only, another] = fitting;
  if (another) {
    const places = fitting.map((halt) => `${halt.branch} ${halt.block}#${halt.visit}`);
    throw new ReefError('which_question', `Several branches wait: ${places.join(', ')}. Name the block.`);
  }
  if (only) return only;
  if (block !== undefined && visit !== undefined) return { block, visit, branch: branch ?? 'main' };
  throw new ReefError('run_not_halted', 'The run does not wait there.');
}
