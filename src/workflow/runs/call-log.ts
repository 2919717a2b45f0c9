import type { JobManager } from '../../agents/job-manager.ts';
import { isLive } from '../../agents/job-status.ts';
import type { ChangeSignal } from '../../events/change-signal.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { AgentEvent } from '../../protocol/events.ts';
import { jobOperations } from '../../protocol/job-operations.ts';
import type { Job, Usage } from '../../protocol/jobs.ts';
import type { Caller, OperationRequest } from '../../protocol/operations.ts';
import type { Call } from '../../protocol/run-operations.ts';
import type { Store } from '../../store/store.ts';
import type { GitWorktreeManager } from '../../worktrees/manager.ts';
import { findRun } from './spec.ts';

interface CallLogDeps {
  store: Store;
  jobs: Pick<JobManager, 'spawn'>;
  worktrees: GitWorktreeManager;
  newId(): string;
  signal: ChangeSignal;
}

const MOST_JOBS = 200;

/** One entry per turn of an agent, read from its events. */
export class CallLog {
  readonly #deps: CallLogDeps;

  constructor(deps: CallLogDeps) {
    this.#deps = deps;
  }

  /** Newest first. */
  list({ run, job, call, limit }: OperationRequest<'calls'>): Call[] {
    const calls = this.#jobs({ run, job, call }).flatMap((each) => this.#callsOf(each));
    if (call !== undefined) return [find(calls, call)];
    return calls.sort((a, b) => (a.timestamp < b.timestamp ? 1 : -1)).slice(0, limit);
  }

  /** Asks the same agent again in a copy of the files; run and worktree stay as they are. */
  async rerun(
    { call, prompt }: OperationRequest<'call_rerun'>,
    caller: Caller,
  ): Promise<{ before: Call; jobId: string }> {
    const { store, jobs, worktrees } = this.#deps;
    const calls = this.#jobs({ call }).flatMap((each) => this.#callsOf(each));
    const before = find(calls, call);
    const { job } = store.jobs.get(before.jobId) ?? {};
    if (job?.worktree === undefined)
      throw new ReefError('call_not_found', 'Only a call in a worktree can be repeated.');
    const copy = await this.#copyOf(job.worktree);
    const request = jobOperations.spawn.input.parse({
      ...{ agent: job.agent, task: prompt ?? before.request.prompt, cwd: copy.path, worktree: copy.id },
      ...(job.model !== undefined && { model: job.model }),
      ...(job.sandbox === 'bubblewrap' && { sandbox: true, yes: job.yes }),
    });
    const { agentId } = await jobs.spawn(request, caller);
    void this.#ended(agentId)
      .then(() => worktrees.discard(copy.id))
      .catch(() => {}); // it stays in the list of worktrees
    return { before, jobId: agentId };
  }

  async #ended(jobId: string): Promise<void> {
    const { store, signal } = this.#deps;
    const look = () => store.jobs.get(jobId)?.job.status;
    await signal.until(look, { isMet: (status) => status === undefined || !isLive(status) });
  }

  async #copyOf(worktreeId: string): Promise<{ id: string; path: string }> {
    const { worktrees, newId } = this.#deps;
    const original = await worktrees.view(worktreeId);
    if (original.path !== null) return worktrees.branchOff(`rerun ${newId()}`, { id: original.id });
    const wanted = { taskId: `rerun ${newId()}`, title: 'rerun', plan: [], base: original.base.commit, anyway: true };
    const { id } = await worktrees.submit(wanted);
    const { path } = await worktrees.whenReady(id);
    return { id, path: path ?? '' };
  }

  #jobs({ run, job, call }: { run?: string | undefined; job?: string | undefined; call?: string | undefined }): Job[] {
    const { store } = this.#deps;
    const wanted = job ?? call?.split(':', 1)[0];
    if (wanted !== undefined) {
      const [id] = store.jobs.idsByPrefix(wanted.toUpperCase());
      const found = id === undefined ? undefined : store.jobs.get(id)?.job;
      if (!found) throw new ReefError('job_not_found', `there is no job "${wanted}"`);
      return [found];
    }
    if (run !== undefined) {
      const { id } = findRun(store, run);
      return store.blocks.ofRun(id).flatMap(({ jobId }) => store.jobs.get(jobId)?.job ?? []);
    }
    return [...store.jobs.live(), ...store.jobs.lastEnded(MOST_JOBS)].map((record) => record.job);
  }

  #callsOf(job: Job): Call[] {
    const block = this.#deps.store.blocks.get(job.id);
    const about = { runId: block?.runId ?? null, block: block?.block ?? null, visit: block?.visit ?? null };
    const fold = new TurnFold(job, about);
    for (const event of this.#deps.store.events.allOf(job.id)) fold.take(event);
    return fold.calls;
  }
}

function find(calls: readonly Call[], callId: string): Call {
  const wanted = callId.toUpperCase();
  const found = calls.find((call) => call.callId === wanted || call.callId.endsWith(wanted.slice(wanted.indexOf(':'))));
  if (!found) throw new ReefError('call_not_found', `There is no call "${callId}".`);
  return found;
}

/** Folds the events of one job into its turns. */
class TurnFold {
  readonly calls: Call[] = [];
  readonly #job: Job;
  readonly #about: Pick<Call, 'runId' | 'block' | 'visit'>;
  #prompt: string;
  #model: string | null;
  #beganAt: string | undefined;
  #before: Usage | undefined;
  #failovers: string[] = [];
  #isOpen = true;

  constructor(job: Job, about: Pick<Call, 'runId' | 'block' | 'visit'>) {
    this.#job = job;
    this.#about = about;
    this.#prompt = job.task;
    this.#model = job.model ?? null;
  }

  take(event: AgentEvent): void {
    this.#beganAt ??= event.timestamp;
    switch (event.type) {
      case 'input_sent':
        if (event.payload.questionId === undefined && event.payload.text !== undefined) this.#begin(event.payload.text);
        return;
      case 'progress':
        if (event.payload.kind === 'session') this.#model = event.payload.model ?? this.#model;
        if (event.payload.kind === 'retry') this.#failovers.push(event.payload.message);
        return;
      case 'completed':
        if (event.payload.scope === 'turn')
          this.#end(event, { content: event.payload.result, usage: event.payload.usage });
        return;
      case 'error':
        if (event.payload.fatal || event.payload.scope === 'turn') this.#end(event, { error: event.payload.message });
        return;
      default:
    }
  }

  #begin(prompt: string): void {
    this.#prompt = prompt;
    this.#isOpen = true;
  }

  #end({ timestamp }: AgentEvent, how: { content: string; usage: Usage } | { error: string }): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    const { id, agent, sandbox } = this.#job;
    const began = this.#beganAt ?? timestamp;
    const durationMs = Math.max(0, Date.parse(timestamp) - Date.parse(began));
    const tokens = (kind: 'input' | 'output') => ('usage' in how ? how.usage[kind] - (this.#before?.[kind] ?? 0) : 0);
    this.calls.push({
      callId: `${id}:${this.calls.length + 1}`,
      timestamp: began,
      ...this.#about,
      jobId: id,
      request: { provider: agent, model: this.#model, prompt: this.#prompt, params: { sandbox } },
      response:
        'content' in how
          ? { content: how.content, tokensUsed: { input: tokens('input'), output: tokens('output') }, durationMs }
          : null,
      ...('error' in how && { error: how.error }),
      failovers: this.#failovers,
    });
    if ('usage' in how) this.#before = how.usage;
    this.#beganAt = undefined;
    this.#failovers = [];
  }
}
