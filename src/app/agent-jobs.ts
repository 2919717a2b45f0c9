import type { JobManager } from '../agents/job-manager.ts';
import type { JobRuntime } from '../agents/job-runtime.ts';
import type { ChangeSignal } from '../events/change-signal.ts';
import { ReefError } from '../protocol/errors.ts';
import { jobOperations } from '../protocol/job-operations.ts';
import type { Job } from '../protocol/jobs.ts';
import type { Caller } from '../protocol/operations.ts';
import type { Amounts } from '../protocol/workflow.ts';
import type { Store } from '../store/store.ts';
import type { AgentJobSpec, AgentJobs, JobEnd } from '../workflow/agent/agent-jobs.ts';

/** What a run lets its agents do; decided by whoever started it. */
export interface RunLeave {
  sandbox: boolean;
  yes: boolean;
  unsafe: boolean;
  /** The job that started the run: its agents are children of that job. */
  parentId?: string;
  maxDepth?: number;
}

interface AgentJobsParts {
  jobs: Pick<JobManager, 'spawn' | 'resume' | 'kill' | 'send'>;
  store: Store;
  signal: ChangeSignal;
  leaveOf(runId: string): RunLeave;
}

/** Changes are announced; this is for those that are not. */
const LOOK_AGAIN_MS = 1_000;

/** The agents of blocks are jobs like any other: this is how the workflow engine starts them and learns their ends. */
export class BlockAgents implements AgentJobs {
  readonly #parts: AgentJobsParts;

  constructor(parts: AgentJobsParts) {
    this.#parts = parts;
  }

  async spawn(effectKey: string, spec: AgentJobSpec): Promise<string> {
    const { jobs, store } = this.#parts;
    const leave = this.#parts.leaveOf(spec.run.runId);
    const request = jobOperations.spawn.input.parse({
      agent: spec.agent,
      task: spec.prompt,
      cwd: spec.cwd,
      worktree: spec.worktreeId,
      budget: jobBudget(spec.budget),
      ...(spec.model !== undefined && { model: spec.model }),
      ...leave,
    });
    const { agentId } = await jobs.spawn({ ...request, key: effectKey, readonly: spec.readonly }, caller(spec));
    store.commit(() => store.blocks.insert({ jobId: agentId, ...spec.run, schema: spec.resultSchema }));
    return agentId;
  }

  async wait(jobId: string, abort: AbortSignal): Promise<JobEnd> {
    for (;;) {
      abort.throwIfAborted();
      const end = await this.#end(jobId);
      if (end) return end;
      await this.#parts.signal.next(LOOK_AGAIN_MS, abort);
    }
  }

  async send(effectKey: string, jobId: string, text?: string): Promise<void> {
    const { jobs, store } = this.#parts;
    store.commit(() => store.blocks.setResult(jobId, null));
    await jobs.resume({ id: jobId, key: effectKey, ...(text !== undefined && { text }) }, REEF);
  }

  async kill(jobId: string): Promise<void> {
    await this.#parts.jobs.kill({ id: jobId }, REEF);
  }

  /** How the turn ended; undefined while it goes on, a question of the agent included. */
  async #end(jobId: string): Promise<JobEnd | undefined> {
    const { store } = this.#parts;
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
        const { code, message } = this.#lastError(jobId);
        if (code !== 'budget_exhausted') return { how: 'error', code, message, spent };
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
    return undefined; // a person interrupted it, and will go on or end it
  }

  /** In a workflow nobody is asked about a budget: the workflow says what happens then (W-36). */
  async #stopAtBudget(job: Job): Promise<void> {
    const open = this.#parts.store.questions.unclosedOf(job.id).filter(({ state }) => state === 'open');
    const asked = open.find(({ question }) => isOfBudget(question))?.question;
    if (!asked) return;
    await this.#parts.jobs
      .send({ id: job.id, option: ['Stop'], questionId: asked.questionId }, REEF)
      .catch((error: unknown) => {
        if (!(error instanceof ReefError && error.code === 'already_answered')) throw error;
      });
  }

  #lastError(jobId: string): { code: string; message: string } {
    const found = this.#parts.store.events
      .tail(jobId, 50)
      .toReversed()
      .find((event) => event.type === 'error' || (event.type === 'progress' && event.payload.kind === 'rate_limit'));
    if (found?.type === 'error') return { code: found.payload.code, message: found.payload.message };
    const message = found?.type === 'progress' && 'message' in found.payload ? found.payload.message : undefined;
    return { code: 'agent_error', message: message ?? 'The agent did not say why.' };
  }

  #lastText(jobId: string): string {
    const ends = this.#parts.store.events.tail(jobId, 20).filter((event) => event.type === 'completed');
    return ends.at(-1)?.payload.result ?? '';
  }
}

/** Asked of people about a job of theirs; of a block's job Reef answers it itself, so nobody need see it. */
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

/** Over all turns of the job, counted as its own budget counts. */
function spentBy({ usage, turns, workedMs }: Job): Amounts {
  return { tokens: usage.input + usage.output, turns, seconds: workedMs / 1000, usd: usage.costUsd };
}
