import type { Amounts, Json, RunBudget } from '../../protocol/workflow.ts';

/** What a block asks of an agent. */
export interface AgentJobSpec {
  agent: string;
  model?: string;
  prompt: string;
  cwd: string;
  worktreeId: string;
  readonly: boolean;
  /** What the tool `block_result` of the job's own server accepts, and native structured output is asked for. */
  resultSchema: Json;
  /** Interrupts the turn at 100 %. */
  budget: RunBudget;
  run: { runId: string; block: string; visit: number; branch: string };
}

/** How a turn ended. `spent` is what this job used so far, in all. */
export type JobEnd = { spent: Amounts } & (
  | { how: 'completed'; text: string; toolResult?: Json; structured?: Json }
  | { how: 'error'; code: string; message: string }
  | { how: 'killed' }
  | { how: 'stale'; message: string }
  | { how: 'rate_limit'; message: string; resumeAt?: string }
  | { how: 'budget'; what: string }
);

/** The part of the job manager that a workflow calls; `app.ts` passes it in. */
export interface AgentJobs {
  /** The same key gives the same job, live or ended: a repeat after a crash starts nothing. */
  spawn(effectKey: string, spec: AgentJobSpec): Promise<string>;
  /**
   * The end of the turn that the last message began; at once when it is over already. Rejects when aborted, and ends
   * nothing: whoever wants the job ended kills it.
   */
  wait(jobId: string, abort: AbortSignal): Promise<JobEnd>;
  /** Begins another turn, also of a job that has ended; without text it goes on where it stopped. Once per key. */
  send(effectKey: string, jobId: string, text?: string): Promise<void>;
  kill(jobId: string): Promise<void>;
}
