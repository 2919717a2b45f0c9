import type { JobManager } from '../../agents/job-manager.ts';
import type { JobRuntime } from '../../agents/job-runtime.ts';
import type { ChangeSignal } from '../../events/change-signal.ts';
import { ReefError } from '../../protocol/errors.ts';
import { jobOperations } from '../../protocol/job-operations.ts';
import type { Job } from '../../protocol/jobs.ts';
import type { Caller } from '../../protocol/operations.ts';
import type { Amounts } from '../../protocol/workflow.ts';
import type { BlockJob } from '../../store/block-table.ts';
import type { Store } from '../../store/store.ts';
import type { AgentJobSpec, AgentJobs, JobEnd } from '../run/ports.ts';

/** What a run lets its agents do, as decided by whoever started it. */
export interface RunPermissions {
  /** As asked for: true refuses to go on without one, false uses none, absent is as configured. */
  sandbox?: boolean;
  yes: boolean;
  unsafe: boolean;
  /** The job that started the run: its agents are children of that job. */
  parentId?: string;
  maxDepth?: number;
}

interface AgentJobsDeps {
  jobs: Pick<JobManager, 'spawn' | 'resume' | 'kill' | 'send'>;
  store: Store;
  signal: ChangeSignal;
  permissionsOf(runId: string): RunPermissions;
}

/** Agents of blocks are jobs like any other. The engine starts them and learns their ends here. */
export class BlockAgents implements AgentJobs {
  readonly #deps: AgentJobsDeps;

  constructor(deps: AgentJobsDeps) {
    this.#deps = deps;
  }

  async spawn(effectKey: string, spec: AgentJobSpec): Promise<string> {
    const known = spec.continues === undefined ? undefined : await this.#takeUp(effectKey, spec, spec.continues);
    return known ?? this.#begin(effectKey, spec);
  }

  /** Undefined: the session cannot go on, and a new job begins. */
  async #takeUp(effectKey: string, spec: AgentJobSpec, jobId: string): Promise<string | undefined> {
    const { jobs, store } = this.#deps;
    const before = store.blocks.get(jobId);
    const assign = (block: Omit<BlockJob, 'result'>) => store.commit(() => store.blocks.assign(block));
    // First: the agent may hand in its result at once.
    assign({ jobId, ...spec.run, schema: spec.resultSchema });
    try {
      await jobs.resume({ id: jobId, key: effectKey, text: spec.prompt }, REEF);
      return jobId;
    } catch (error) {
      if (before) assign(before);
      if (error instanceof ReefError && !error.retryable) return undefined;
      throw error;
    }
  }

  async #begin(effectKey: string, spec: AgentJobSpec): Promise<string> {
    const { jobs, store } = this.#deps;
    const permissions = this.#deps.permissionsOf(spec.run.runId);
    const request = jobOperations.spawn.input.parse({
      agent: spec.agent,
      task: spec.prompt,
      cwd: spec.cwd,
      worktree: spec.worktreeId,
      budget: jobBudget(spec.budget),
      ...(spec.model !== undefined && { model: spec.model }),
      ...permissions,
    });
    const { agentId } = await jobs.spawn({ ...request, key: effectKey, readonly: spec.readonly }, caller(spec));
    store.commit(() => store.blocks.insert({ jobId: agentId, ...spec.run, schema: spec.resultSchema }));
    return agentId;
  }

  async wait(jobId: string, abort: AbortSignal): Promise<JobEnd> {
    abort.throwIfAborted();
    const end = await this.#deps.signal.until(() => this.#end(jobId), {
      isMet: (seen) => seen !== undefined,
      signal: abort,
    });
    if (end) return end;
    throw abort.reason;
  }

  async send(effectKey: string, jobId: string, text?: string): Promise<void> {
    const { jobs, store } = this.#deps;
    store.commit(() => store.blocks.setResult(jobId, null));
    await jobs.resume({ id: jobId, key: effectKey, ...(text !== undefined && { text }) }, REEF);
  }

  async kill(jobId: string): Promise<void> {
    await this.#deps.jobs.kill({ id: jobId }, REEF);
  }

  isLost(jobId: string, worktreeId: string): boolean {
    return this.#deps.store.jobs.get(jobId)?.job.worktree !== worktreeId;
  }

  /** How the turn ended; undefined while it goes on or the agent asks. */
  async #end(jobId: string): Promise<JobEnd | undefined> {
    const { store } = this.#deps;
    const record = store.jobs.get<JobRuntime>(jobId);
    if (!record) throw new ReefError('job_not_found', `there is no job "${jobId}"`);
    const { job, runtime } = record;
    const spent = spentBy(job);
    switch (job.status) {
      case 'queued':
      case 'running':
        return undefined;
      case 'awaiting_input':
        await this.#stopAtBudget(job);
        return undefined;
      case 'paused':
        return this.#pauseEnd(job, spent);
      case 'killed':
        return { how: 'killed', spent };
      case 'stale':
        return { how: 'stale', message: this.#lastError(jobId).message, spent };
      case 'error': {
        const error = this.#lastError(jobId);
        if (error.code !== 'budget_exhausted') return { how: 'error', ...error, spent };
        return { how: 'budget', what: runtime.spent?.what ?? 'seconds', spent };
      }
      case 'completed': {
        const result = store.blocks.get(jobId)?.result ?? null;
        return { how: 'completed', text: this.#lastText(jobId), ...(result !== null && { toolResult: result }), spent };
      }
    }
  }

  #pauseEnd(job: Job, spent: Amounts): JobEnd | undefined {
    if (job.reason === 'rate_limit' || job.reason === 'outage') {
      const resumeAt = job.resumeAt === undefined ? {} : { resumeAt: job.resumeAt };
      return { how: 'rate_limit', message: this.#lastError(job.id).message, ...resumeAt, spent };
    }
    if (job.reason === 'turn_failed') return { how: 'error', ...this.#lastError(job.id), spent };
    return undefined; // a person interrupted it and will continue or end it
  }

  /** The workflow decides what happens when a budget is used up, so nobody is asked. */
  async #stopAtBudget(job: Job): Promise<void> {
    const open = this.#deps.store.questions.unclosedOf(job.id).filter(({ state }) => state === 'open');
    const asked = open.find(({ question }) => isOfBudget(question))?.question;
    if (!asked) return;
    await this.#deps.jobs
      .send({ id: job.id, option: ['Stop'], questionId: asked.questionId }, REEF)
      .catch((error: unknown) => {
        if (!(error instanceof ReefError && error.code === 'already_answered')) throw error;
      });
  }

  #lastError(jobId: string): { code: string; message: string; retryable?: boolean } {
    const found = this.#deps.store.events
      .tail(jobId, 50)
      .toReversed()
      .find((event) => event.type === 'error' || (event.type === 'progress' && event.payload.kind === 'rate_limit'));
    if (found?.type === 'error') {
      const { code, message: said, retryable } = found.payload;
      return { code, message: said, retryable };
    }
    const message = found?.type === 'progress' && 'message' in found.payload ? found.payload.message : undefined;
    return { code: 'agent_error', message: message ?? 'The agent did not say why.' };
  }

  #lastText(jobId: string): string {
    const ends = this.#deps.store.events.tail(jobId, 20).filter((event) => event.type === 'completed');
    return ends.at(-1)?.payload.result ?? '';
  }
}

/** The question about a budget. For a block's job Reef answers it itself. */
export function isOfBudget({ requestId }: { requestId: string }): boolean {
  return requestId.startsWith('reef:budget:');
}

const REEF: Caller = { by: 'reef:workflow', surface: 'cli' };

function caller({ run }: AgentJobSpec): Caller {
  return { ...REEF, by: `run:${run.runId}` };
}

function jobBudget({ tokens, turns, seconds }: AgentJobSpec['budget']) {
  return {
    ...(tokens !== undefined && { tokens }),
    ...(turns !== undefined && { turns }),
    ...(seconds !== undefined && { seconds: Math.max(1, Math.floor(seconds)) }),
  };
}

/** All turns of the job, counted as its budget counts. */
function spentBy({ usage, turns, workedMs }: Job): Amounts {
  return { tokens: usage.input + usage.output, turns, seconds: workedMs / 1000, usd: usage.costUsd };
}
