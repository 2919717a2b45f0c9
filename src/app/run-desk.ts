import { z } from 'zod';
import type { AdapterRegistry } from '../agents/registry.ts';
import type { Clock } from '../base/clock.ts';
import type { ChangeSignal } from '../events/change-signal.ts';
import type { Capabilities } from '../process/capabilities.ts';
import { ReefError } from '../protocol/errors.ts';
import type { Job } from '../protocol/jobs.ts';
import type { Caller, OperationOutput, OperationRequest, RunCore } from '../protocol/operations.ts';
import type { RunSummary } from '../protocol/run-operations.ts';
import type { Halt, Json, RunView } from '../protocol/workflow.ts';
import type { UserConfig } from '../runtime/config-file.ts';
import type { Store } from '../store/store.ts';
import { readResult } from '../workflow/agent/read-result.ts';
import { runnableManifest } from '../workflow/manifest/check-manifest.ts';
import { chooseStart } from '../workflow/manifest/choose-start.ts';
import type { WorkflowRuns } from '../workflow/run/runs.ts';
import { DEFAULT_SHIPPED, SHIPPED, type ShippedName, shippedWorkflow } from '../workflow/shipped/shipped.ts';
import { findGateCommands, type GateCommands } from '../workflow/workers/gate-commands.ts';
import type { GitWorktreeManager } from '../worktrees/manager.ts';
import { isOfBudget } from './agent-jobs.ts';
import type { CallLog } from './call-log.ts';
import { knownAgents } from './known-agents.ts';
import type { Project } from './project.ts';
import { type BookedRun, findRun, isTheirRun, type RunOrder } from './run-book.ts';
import type { RunStarter } from './run-starter.ts';

interface RunDeskParts {
  store: Store;
  clock: Clock;
  signal: ChangeSignal;
  registry: AdapterRegistry;
  capabilities: Capabilities;
  project: Project;
  runs: WorkflowRuns;
  starter: RunStarter;
  worktrees: GitWorktreeManager;
  calls: CallLog;
  newId(): string;
  redact<T>(value: T): T;
  settings(): Pick<UserConfig, 'gates'>;
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
    if (known) return this.#summary(known);
    const doc = await this.#order(request, caller);
    const booked: BookedRun = { id: this.#parts.newId(), worktreeId: '', state: 'waiting', doc };
    const before = store.commit(() => this.#book(booked, request.key));
    if (before) return this.#summary(before);
    try {
      const worktreeId = await starter.house(booked);
      const run = { ...booked, worktreeId };
      starter.begin(run);
      return this.#summary(run);
    } catch (error) {
      store.commit(() => store.runs.remove(booked.id));
      throw error;
    }
  }

  async runs({ all }: OperationRequest<'runs'>, caller: Caller): Promise<OperationOutput<'runs'>> {
    return { runs: await this.#list(all ? 1_000 : SHOWN, caller) };
  }

  async run_status(request: OperationRequest<'run_status'>, caller: Caller, signal: AbortSignal) {
    if (request.id === undefined) return { runs: await this.#list(SHOWN, caller), view: null };
    const found = findRun(this.#parts.store, request.id);
    if (!isTheirRun(found, caller)) throw new ReefError('not_yours', `run ${found.id} is not one of yours`);
    const { id } = found;
    const { clock } = this.#parts;
    const deadline = clock.monotonicMs() + request.waitMs;
    for (;;) {
      const { summary, view } = await this.#look(findRun(this.#parts.store, id));
      const left = deadline - clock.monotonicMs();
      const isNews = request.after !== undefined && (view?.seq ?? 0) > request.after;
      if (!goesOn(summary) || isNews || left <= 0 || signal.aborted) {
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
    return this.#summary(findRun(this.#parts.store, run.id));
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

  /** Halted runs ask like jobs do. */
  async halted(): Promise<{ run: BookedRun; path: string | null; halts: readonly Halt[] }[]> {
    const begun = this.#parts.store.runs.open<RunOrder>().filter(({ state }) => state === 'begun');
    const looks = await Promise.all(begun.map(async (run) => ({ run, ...(await this.#look(run)) })));
    return looks.flatMap(({ run, view, summary }) =>
      view && view.halts.length > 0 ? [{ run, path: summary.path, halts: this.#parts.redact(view.halts) }] : [],
    );
  }

  /** What a held worktree keeps of its run (T-35). */
  async sessionOf(worktreeId: string): Promise<Json | undefined> {
    const [run] = this.#parts.store.runs.byWorktree<RunOrder>(worktreeId);
    const view = run && (await this.#view(run));
    if (!view) return undefined;
    const { position, returnStack, executionLog, stats, seq } = view;
    const executionPayload = Object.values(executionLog).flatMap(({ segments }) => segments);
    const session = { runId: run.id, currentBlockId: position?.block ?? null, returnStack, executionPayload };
    return JSON.parse(JSON.stringify(this.#parts.redact({ ...session, sessionStats: stats, seq })));
  }

  async gatesIn(worktreeId: string): Promise<{ view: RunView | undefined; gates: GateCommands } | undefined> {
    const [run] = this.#parts.store.runs.byWorktree<RunOrder>(worktreeId);
    if (!run) return undefined;
    return { view: await this.#view(run), gates: run.doc.gates };
  }

  isBusy(worktreeId: string): Promise<boolean> {
    const open = this.#parts.store.runs.byWorktree<RunOrder>(worktreeId).filter(({ state }) => state === 'begun');
    return Promise.all(open.map(async (run) => (await this.#look(run)).summary.status)).then((all) =>
      all.some((status) => status === 'running' || status === 'awaiting_input'),
    );
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

  async #order(request: OperationRequest<'run'>, caller: Caller): Promise<RunOrder> {
    const { clock, project, registry, capabilities } = this.#parts;
    const { manifest, node } = await this.#manifest(request.workflow);
    if (request.agent !== undefined) registry.get(request.agent);
    const parent = this.#refuseEscape(request, caller);
    if (request.yes && !request.sandbox && !request.unsafe) {
      throw new ReefError('unsafe_needs_consent', 'agents that ask nothing need a sandbox around them');
    }
    const sandbox = request.sandbox || parent?.sandbox === 'bubblewrap';
    if (sandbox && capabilities.bubblewrap === undefined) {
      throw new ReefError('sandbox_unavailable', 'bubblewrap is not installed here or not allowed to work');
    }
    const configured = { ...this.#parts.settings().gates, ...(await project.gates()) };
    const gates = await findGateCommands({
      workers: manifest.workers,
      configured: JSON.parse(JSON.stringify(configured)),
      readProject: project.readGateFile,
    });
    const { task, agent, model, plan, base, priority, anyway, accept, autoResume, budget, yes, unsafe } = request;
    return {
      ...{ task, node, manifest, gates, plan, anyway, accept, autoResume, budget, stepping: request.step },
      ...(agent !== undefined && { agent }),
      ...(model !== undefined && { model }),
      ...(base !== undefined && { base }),
      ...(priority !== undefined && { priority }),
      leave: { sandbox, yes, unsafe, ...(caller.jobId !== undefined && { parentId: caller.jobId }) },
      createdAt: clock.now().toISOString(),
      by: caller.by,
    };
  }

  /** What a job starts may do no more than the job itself. */
  #refuseEscape({ agent, yes, accept }: OperationRequest<'run'>, { jobId }: Caller): Job | undefined {
    if (jobId === undefined) return undefined;
    const parent = this.#parts.store.jobs.get(jobId)?.job;
    if (accept) throw new ReefError('not_yours', 'people merge: leave "accept" out');
    if (yes && !parent?.yes)
      throw new ReefError('not_yours', 'a job may not allow what people have to: leave "yes" out');
    if (agent?.startsWith('scripted:') && !this.#parts.registry.isConfigured(agent)) {
      throw new ReefError('not_yours', `a job may not start ${agent}, which the configuration does not name`);
    }
    return parent;
  }

  /** A node of the repository's own file, or a workflow that ships with Reef (W-07, W-66). */
  async #manifest(named: string | undefined) {
    const agents = knownAgents(this.#parts.registry);
    const shipped = SHIPPED.find((name) => name === named);
    const own = shipped ? undefined : await this.#parts.project.manifest();
    const check = (file: { path: string; text: string }, ignored: string[] = []) =>
      runnableManifest(file, { agents, ignored }).manifest;
    const manifest = own && check(own, own.ignored);
    const node = shipped ? undefined : chooseStart(manifest, named);
    if (manifest && node !== undefined) return { manifest, node };
    const name: ShippedName = shipped ?? DEFAULT_SHIPPED;
    const chosen = check(shippedWorkflow(name));
    return { manifest: chosen, node: chosen.start ?? Object.keys(chosen.nodes)[0] ?? '' };
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
    const { block, visit, branch } = chooseHalt((await this.#view(run))?.halts ?? [], request);
    if ((await worktrees.view(run.worktreeId)).status === 'held') await worktrees.reinflate(run.worktreeId);
    const said = { ...(guidance !== undefined && { guidance }), ...(signal !== undefined && { signal }) };
    const how = { by: caller.by, ...(key !== undefined && { key }) };
    await runs.answer(run.id, { block, visit, branch, verb, ...said }, how);
  }

  async #list(most: number, caller: Caller): Promise<RunSummary[]> {
    const { store } = this.#parts;
    const newest = store.runs.newest<RunOrder>(most);
    const older = store.runs.open<RunOrder>().filter(({ id }) => !newest.some((run) => run.id === id));
    const theirs = [...newest, ...older].filter((run) => isTheirRun(run, caller));
    return this.#parts.redact(await Promise.all(theirs.map((run) => this.#summary(run))));
  }

  async #summary(run: BookedRun): Promise<RunSummary> {
    return (await this.#look(run)).summary;
  }

  async #look(run: BookedRun): Promise<{ summary: RunSummary; view: RunView | undefined }> {
    const { starter, worktrees } = this.#parts;
    const view = await this.#view(run);
    const worktree = run.worktreeId === '' ? undefined : await worktrees.view(run.worktreeId);
    const obstacle = starter.obstacle(run.id);
    const waitsFor = worktree?.queue?.waitsFor.map(({ worktreeId, files }) => `${worktreeId} (${files.join(', ')})`);
    const because =
      view?.halt?.message ??
      obstacle?.message ??
      (waitsFor && `waits for ${waitsFor.join('; ') || 'room: too many worktrees are open'}`);
    const ends = Object.values(view?.executionLog ?? {}).flatMap(({ endedAt }) => endedAt ?? []);
    const endedAt = view && view.outcome !== 'running' ? ends.sort().at(-1) : undefined;
    const summary: RunSummary = {
      runId: run.id,
      task: run.doc.task,
      workflow: run.doc.node,
      worktree: run.worktreeId,
      path: worktree?.path ?? null,
      status: this.#status(run, view, obstacle !== undefined),
      block: view?.position?.block ?? null,
      visit: view?.position?.visit ?? null,
      ...(because !== undefined && { because }),
      createdAt: run.doc.createdAt,
      ...(endedAt !== undefined && { endedAt }),
    };
    return { summary, view };
  }

  /** Undefined if it has not begun, or never did. */
  async #view({ id }: BookedRun): Promise<RunView | undefined> {
    const { store, runs } = this.#parts;
    return store.journal.after(id, 0, 1).length === 0 ? undefined : runs.view(id);
  }

  #status(run: BookedRun, view: RunView | undefined, isStuck: boolean): RunSummary['status'] {
    if (!view) return run.state === 'over' ? 'aborted' : isStuck ? 'halted' : 'queued';
    if (view.outcome !== 'running') return view.outcome;
    if (view.isHalted) return 'halted';
    const { blocks, questions } = this.#parts.store;
    const asks = blocks
      .ofRun(run.id)
      .flatMap(({ jobId }) => questions.unclosedOf(jobId))
      .some(({ state, question }) => state === 'open' && !isOfBudget(question));
    return asks ? 'awaiting_input' : 'running';
  }
}

function goesOn({ status }: RunSummary): boolean {
  return status === 'queued' || status === 'running';
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
