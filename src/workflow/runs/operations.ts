import { z } from 'zod';
import type { JobManager } from '../../agents/job-manager.ts';
import type { JobRunner } from '../../agents/job-runner.ts';
import type { Clock } from '../../base/clock.ts';
import type { ChangeSignal } from '../../events/change-signal.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Caller, OperationOutput, OperationRequest, RunCore } from '../../protocol/operations.ts';
import { isUnderWay, type RunSummary, runOperations } from '../../protocol/run-operations.ts';
import type { Halt, Json } from '../../protocol/workflow.ts';
import type { Store } from '../../store/store.ts';
import type { GitWorktreeManager } from '../../worktrees/manager.ts';
import { readResult } from '../agent/read-result.ts';
import type { DurableEngine } from '../durable/durable-engine.ts';
import { readableContent } from '../memory/segment.ts';
import { compareAttempts, showAttempts } from './attempts.ts';
import type { CallLog } from './call-log.ts';
import type { RunPlanner } from './plan.ts';
import { startReview } from './review-attempts.ts';
import { findRun, findTheirRun, type RunSpec, type StoredRun } from './spec.ts';
import { endRun, type RunStarter } from './start.ts';
import type { RunStatus } from './status.ts';
import { ToldViews } from './told-views.ts';
import type { WorkflowRuns } from './workflow-runs.ts';

interface RunOperationsDeps {
  store: Store;
  clock: Clock;
  signal: ChangeSignal;
  engine: DurableEngine;
  runs: WorkflowRuns;
  planner: RunPlanner;
  starter: RunStarter;
  status: RunStatus;
  worktrees: GitWorktreeManager;
  calls: CallLog;
  jobs: Pick<JobManager, 'spawn'>;
  newId(): string;
  /** Lends the slot of a waiting job to the agents of its run. */
  runner: Pick<JobRunner, 'lend'>;
  redact<T>(value: T): T;
}

/** The part of a block's result schema that lists its signals. */
const resultShape = z.object({ properties: z.object({ signal: z.object({ enum: z.array(z.string()) }) }) });

const SHOWN = 20;

type Look = Awaited<ReturnType<RunStatus['look']>>;

/** Every operation on runs, for every surface. */
export class RunOperations implements RunCore {
  readonly #deps: RunOperationsDeps;
  readonly #told = new ToldViews();

  constructor(deps: RunOperationsDeps) {
    this.#deps = deps;
  }

  run(request: OperationRequest<'run'>, caller: Caller): Promise<RunSummary> {
    return request.agents === undefined
      ? this.#run(request, caller)
      : this.#tryBySeveral(request.agents, request, caller);
  }

  /** One run for each agent. What would refuse one of them refuses all, before any has begun. */
  async #tryBySeveral(
    agents: readonly string[],
    { agents: _, ...request }: OperationRequest<'run'>,
    caller: Caller,
  ): Promise<RunSummary> {
    if (request.agent !== undefined) throw new ReefError('bad_request', 'Name either one agent or several.');
    if (request.accept) throw new ReefError('bad_request', 'You choose which of them is merged: leave "accept" out.');
    for (const agent of agents) await this.#deps.planner.plan({ ...request, agent }, caller);
    const group = request.key ?? this.#deps.newId();
    const runs: RunSummary[] = [];
    for (const [index, agent] of agents.entries()) {
      const key = request.key && `${request.key}#${index + 1}`;
      runs.push(await this.#run({ ...request, agent, key }, caller, { group }));
    }
    const [first] = runs;
    return this.#deps.status.summary(findRun(this.#deps.store, first?.runId ?? ''));
  }

  /** A run of a fleet, claimed for this home: it keeps its id, and one that was begun before goes on. */
  async beginQueued(id: string, request: OperationRequest<'run'>, caller: Caller): Promise<void> {
    const known = this.#deps.store.runs.get<RunSpec>(id);
    if (!known) await this.#run(request, caller, { id });
    else if (known.state !== 'over') this.#deps.starter.begin(known);
  }

  /** The spec is stored first, so a repeat with the same key finds it. */
  async #run(
    request: OperationRequest<'run'>,
    caller: Caller,
    { group, id = this.#deps.newId() }: { group?: string; id?: string } = {},
  ): Promise<RunSummary> {
    const { store, starter } = this.#deps;
    const known = request.key === undefined ? undefined : store.runs.byKey<RunSpec>(request.key);
    if (known) return this.#deps.status.summary(known);
    const { base, target } = await this.#deps.worktrees.startingPoint(request);
    if (request.accept && target === undefined) {
      throw new ReefError('target_unknown', 'A run that starts from a commit has no branch to be merged into.');
    }
    const plan = await this.#deps.planner.plan({ ...request, base }, caller);
    const doc = { ...plan, ...(group !== undefined && { group }) };
    const stored: StoredRun = { id, worktreeId: '', state: 'waiting', doc };
    const before = store.commit(() => this.#insert(stored, request.key));
    if (before) return this.#deps.status.summary(before);
    try {
      const worktreeId = await starter.assignWorktree(stored);
      const run = { ...stored, worktreeId };
      starter.begin(run);
      return this.#deps.status.summary(run);
    } catch (error) {
      store.commit(() => store.runs.remove(stored.id));
      throw error;
    }
  }

  async runs({ all }: OperationRequest<'runs'>, caller: Caller): Promise<OperationOutput<'runs'>> {
    return { runs: await this.#deps.status.list(all ? 1_000 : SHOWN, caller) };
  }

  async run_status(request: OperationRequest<'run_status'>, caller: Caller, signal: AbortSignal) {
    if (request.id === undefined) return { runs: await this.#deps.status.list(SHOWN, caller), view: null };
    const { id } = findTheirRun(this.#deps.store, request.id, caller);
    const { jobId } = caller;
    const takeBack = jobId === undefined || request.waitMs === 0 ? undefined : this.#deps.runner.lend(jobId);
    try {
      return await this.#await(id, request, signal);
    } finally {
      takeBack?.();
    }
  }

  async run_follow(
    { id: named, after, waitMs }: OperationRequest<'run_follow'>,
    caller: Caller,
    signal: AbortSignal,
  ): Promise<OperationOutput<'run_follow'>> {
    const { id } = findTheirRun(this.#deps.store, named, caller);
    const {
      runs: [run],
      view,
    } = await this.#await(id, { waitMs, after, until: 'needs_input' }, signal);
    return { run: run as RunSummary, ...this.#told.since(id, after, view ?? undefined) };
  }

  async run_compare({ id }: OperationRequest<'run_compare'>, caller: Caller): Promise<OperationOutput<'run_compare'>> {
    const { run } = this.#tried(id, caller);
    return this.#deps.redact({ task: run.doc.task, attempts: await compareAttempts(this.#deps, run) });
  }

  async run_review(
    { id, agent }: OperationRequest<'run_review'>,
    caller: Caller,
  ): Promise<OperationOutput<'run_review'>> {
    const { run, group } = this.#tried(id, caller);
    const shown = await showAttempts(this.#deps, run);
    if (shown.length === 0) throw new ReefError('bad_request', 'None of the attempts is left to be compared.');
    const about = this.#deps.redact({ agent, task: run.doc.task, group, shown });
    return { runId: run.id, jobId: await startReview(this.#deps.jobs, about, caller) };
  }

  /** A run of a task that several agents try. */
  #tried(id: string, caller: Caller): { run: StoredRun; group: string } {
    const run = findTheirRun(this.#deps.store, id, caller);
    const { group } = run.doc;
    if (group !== undefined) return { run, group };
    throw new ReefError('bad_request', `Only one agent works on the task of run ${run.id}.`);
  }

  async #await(
    id: string,
    request: Pick<OperationRequest<'run_status'>, 'waitMs' | 'until' | 'after'>,
    signal: AbortSignal,
  ): Promise<OperationOutput<'run_status'>> {
    const isOver = ({ summary, view }: Look) => {
      const isNews = request.after !== undefined && (view?.seq ?? 0) > request.after;
      return isNews || !goesOn(summary, request.until);
    };
    const look = () => this.#deps.status.look(findRun(this.#deps.store, id));
    const { signal: changes, clock } = this.#deps;
    const seen = await changes.until(look, { isMet: isOver, timeoutMs: request.waitMs, signal, clock });
    return this.#deps.redact({ runs: [seen.summary], view: seen.view ?? null });
  }

  async run_control(request: OperationRequest<'run_control'>, caller: Caller): Promise<RunSummary> {
    const run = findRun(this.#deps.store, request.id);
    switch (request.verb) {
      case 'hold':
        await this.#deps.worktrees.hold(run.worktreeId, await this.#deps.status.sessionOf(run.worktreeId));
        break;
      case 'continue':
        return this.#deps.status.summary(await this.#continue(run, request, caller));
      case 'step':
      case 'go':
        await this.#deps.runs.setStepping(run.id, request.verb === 'step');
        break;
      case 'abort':
        if (run.state === 'over') throw new ReefError('run_not_halted', `The run ${run.id} is over.`);
        await endRun(this.#deps, run, request.guidance ?? `aborted by ${caller.by}`);
        break;
      default:
        await this.#answer(run, { ...request, verb: request.verb }, caller);
    }
    return this.#deps.status.summary(findRun(this.#deps.store, run.id));
  }

  /** What a forge says is for the agent of the next visit, like the guidance of a person. */
  async run_from_pr(request: OperationRequest<'run_from_pr'>, caller: Caller): Promise<OperationOutput<'run_from_pr'>> {
    const { store, worktrees, status, redact } = this.#deps;
    const run = findRun(store, request.id);
    const { guidance: said, heard, signals, told } = redact(await worktrees.pullRequestNews(run.worktreeId));
    const guidance = request.guidance === undefined ? said : `${request.guidance}\n\n${said}`;
    const going = await this.#continue(run, { ...request, verb: 'continue', guidance }, caller);
    if (heard !== undefined) worktrees.noteHeard(run.worktreeId, heard);
    return redact({ signals, told, run: await status.summary(going) });
  }

  /** One that halted is resumed, one whose worktree could not be made is tried again, one that has ended goes on as another run. */
  async #continue(run: StoredRun, request: OperationRequest<'run_control'>, caller: Caller): Promise<StoredRun> {
    const { starter, status, worktrees, store } = this.#deps;
    const { guidance = 'Go on with the task.', key } = request;
    const newest = store.runs.byWorktree<RunSpec>(run.worktreeId)[0] ?? run;
    if (newest.state === 'over') return starter.goOn(newest, { guidance, by: caller.by, key });
    if (newest.state === 'waiting' && starter.obstacle(newest.id)) {
      await worktrees.reopen(newest.worktreeId);
      starter.begin(newest);
      return newest;
    }
    const halts = (await status.view(newest))?.halts ?? [];
    if (halts.length === 0) {
      throw new ReefError('run_not_halted', `The run ${newest.id} is at work. Talk to its agent with \`reef send\`.`);
    }
    await this.#answer(newest, { ...request, verb: 'resume' }, caller);
    return newest;
  }

  async run_replay({ id }: OperationRequest<'run_replay'>): Promise<OperationOutput<'run_replay'>> {
    const run = findRun(this.#deps.store, id);
    const { walked = null, ...rest } = await this.#deps.runs.replay(run.id);
    return { runId: run.id, walked, ...rest };
  }

  async run_log({ id, block }: OperationRequest<'run_log'>): Promise<OperationOutput<'run_log'>> {
    const { store, runs, redact } = this.#deps;
    const { id: runId } = findRun(store, id);
    const isMeant = (each: string) => block === undefined || each === block || each.endsWith(`__${block}`);
    const visits = (await runs.segments(runId)).filter((segment) => isMeant(segment.block));
    if (block !== undefined && visits.length === 0) {
      throw new ReefError(
        'bad_request',
        `${block} is not a block of run ${runId}, or it left nothing: \`reef run show ${runId}\``,
      );
    }
    return redact({
      runId,
      visits: visits.map(({ block: of, visit, type, content }) => ({
        block: of,
        visit,
        type,
        text: readableContent(content, 2),
      })),
    });
  }

  /** Checked at the call, so that the agent can correct itself in the same turn. */
  async block_result(request: OperationRequest<'block_result'>, caller: Caller): Promise<{ taken: true }> {
    const { store } = this.#deps;
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
    return { calls: this.#deps.redact(this.#deps.calls.list(request)) };
  }

  async call_rerun(request: OperationRequest<'call_rerun'>, caller: Caller): Promise<OperationOutput<'call_rerun'>> {
    return this.#deps.redact(await this.#deps.calls.rerun(request, caller));
  }

  /** An agent works in a worktree that stands, and the gates judge: its last run goes on, or a first one begins there. */
  async workIn(worktreeId: string, { guidance, agent }: { guidance: string; agent: string }, caller: Caller) {
    const { store, starter, planner, worktrees } = this.#deps;
    const [last] = store.runs.byWorktree<RunSpec>(worktreeId);
    if (last) return this.#deps.status.summary(await starter.goOn(last, { guidance, agent, by: caller.by }));
    const request = runOperations.run.input.parse({ task: guidance, agent });
    const isWalled = store.jobs.anySandboxed(worktreeId);
    const doc = await planner.plan({ ...request, ...(isWalled && { sandbox: true }) }, caller);
    await worktrees.reopen(worktreeId);
    const run: StoredRun = { id: this.#deps.newId(), worktreeId, state: 'waiting', doc };
    store.commit(() => store.runs.insert(run));
    starter.begin(run);
    return this.#deps.status.summary(run);
  }

  /** Ending twice is ending once, as with jobs. */
  async end(run: StoredRun, by: string): Promise<RunSummary> {
    await endRun(this.#deps, run, `aborted by ${by}`);
    return this.#deps.status.summary(findRun(this.#deps.store, run.id));
  }

  /** Runs the set-up that failed again; the run begins when it succeeds. */
  async #prepare(run: StoredRun): Promise<void> {
    const { setup } = await this.#deps.worktrees.setup(run.worktreeId);
    if (setup.state === 'failed') throw new ReefError('setup_failed', setup.message ?? 'The set-up failed.');
    this.#deps.starter.begin(run);
  }

  /** Looked up and inserted in one transaction: of two with one key the second finds the first. */
  #insert(run: StoredRun, key: string | undefined): StoredRun | undefined {
    const { runs } = this.#deps.store;
    const before = key === undefined ? undefined : runs.byKey<RunSpec>(key);
    if (!before) runs.insert(run, key);
    return before;
  }

  async #answer(
    run: StoredRun,
    request: OperationRequest<'run_control'> & { verb: 'approve' | 'resume' | 'retry' | 'skip' },
    caller: Caller,
  ): Promise<void> {
    const { worktrees, runs, starter } = this.#deps;
    const isUnprepared = run.state === 'waiting' && starter.obstacle(run.id)?.code === 'setup_failed';
    if (isUnprepared && (request.verb === 'retry' || request.verb === 'resume')) return this.#prepare(run);
    if (run.state === 'waiting')
      throw new ReefError('run_not_halted', `The run ${run.id} does not wait for an answer.`);
    const { verb, guidance, signal, key } = request;
    const { block, visit, branch } = chooseHalt((await this.#deps.status.view(run))?.halts ?? [], request);
    if ((await worktrees.view(run.worktreeId)).status === 'held') await worktrees.reinflate(run.worktreeId);
    const said = { ...(guidance !== undefined && { guidance }), ...(signal !== undefined && { signal }) };
    const how = { by: caller.by, ...(key !== undefined && { key }) };
    await runs.answer(run.id, { block, visit, branch, verb, ...said }, how);
  }
}

function goesOn(run: RunSummary, until: OperationRequest<'run_status'>['until']): boolean {
  const asks = run.status === 'awaiting_input' || run.status === 'halted';
  return isUnderWay(run) || (asks && until === 'done');
}

/** An answer that names its visit is passed on even if nothing waits there: it may be a repeat. */
function chooseHalt(
  halts: readonly Halt[],
  { block, visit, branch }: Pick<OperationRequest<'run_control'>, 'block' | 'visit' | 'branch'>,
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
