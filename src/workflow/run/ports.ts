import type { Clock } from '../../base/clock.ts';
import type { SafeDir } from '../../base/safe-dir.ts';
import type { Amounts, GateView, Json, RunBudget, RunEvent } from '../../protocol/workflow.ts';
import type { GitWorktreeManager } from '../../worktrees/manager.ts';
import type { RunCaptures } from '../../worktrees/run-captures.ts';
import type { PromptBudget } from '../agent/prompt.ts';
import type { Blobs } from '../memory/segment.ts';
import type { GateSurroundings } from '../workers/gates.ts';
import type { ChangePlans } from '../workers/update-change-plan.ts';

export interface Worktree {
  id: string;
  path: string;
}

/** Everything a run reaches outside itself; `app.ts` wires it. */
export interface WorkflowPorts extends GateSurroundings {
  clock: Clock;
  blobs: Blobs;
  openDir(root: string, options?: { effect: string }): SafeDir;
  jobs: AgentJobs;
  captures: RunCaptures;
  /** For change plans, gates, and FORK branches with `isolation: worktree`. After a crash they are called again. */
  worktrees: ChangePlans &
    Pick<GitWorktreeManager, 'branchOff' | 'mergeBack' | 'inGateCheckout' | 'compareWithBase' | 'discard'>;
  prompt: PromptBudget;
  /** The state of the worktree in a few hundred tokens; empty while nothing has happened there. */
  repoState?(worktreePath: string): Promise<string>;
  /** Called when a worker of ours has written these files, so that the code index need not find out. */
  edited?(worktreePath: string, paths: readonly string[]): void;
  /** Brings the work of a finished block to where other hosts find it, before its result is recorded. */
  carry?(work: CarriedWork): Promise<void>;
  /** Slices of code context, shown with the files. */
  codeContext?(request: CodeContextRequest): Promise<{ text: string; degraded: DegradedSlice[] }>;
  /** Stores gate verdicts for the merge. A run that is taken up again tells them again. */
  keepVerdicts(runId: string, verdicts: readonly GateView[]): void;
  /** Whether a gate with this key has passed on exactly this tree before. */
  hasPassed(tree: string, key: string): boolean;
  defaultAgent(): string;
  /** Whether a name is an agent, so that `Agent:claude` needs no roster. */
  isAgent(name: string): boolean;
  /** The stepping mode that a person set during the run; undefined if nobody did. */
  steppingOf(runId: string): Promise<boolean | undefined>;
}

export interface CarriedWork {
  runId: string;
  /** Of the step that records its result. */
  key: string;
  branch: string;
  /** `<block>.<visit>`. */
  visit: string;
  attempt: number;
  /** The last checkpoint of the branch; undefined: it begins where the run began. */
  from: string | undefined;
  commit: string;
  abort: AbortSignal;
}

/** A slice that could not be had; the text says so in its place. */
export type DegradedSlice = Pick<RunEvent, 'slice' | 'code' | 'message'>;

interface CodeContextRequest {
  slices: unknown[];
  budget: number | undefined;
  worktreePath: string;
  task: string;
  args: Record<string, Json>;
}

export interface AgentJobSpec {
  agent: string;
  model?: string;
  prompt: string;
  cwd: string;
  worktreeId: string;
  readonly: boolean;
  /** What the tool `block_result` accepts, and what structured output is asked for. */
  resultSchema: Json;
  /** Interrupts the turn at 100 %. */
  budget: RunBudget;
  /** A job that has ended: where its session can go on, it takes the prompt and no new job is made. */
  continues?: string;
  run: { runId: string; block: string; visit: number; branch: string };
}

/** How a turn ended. `spent` counts the whole job so far. */
export type JobEnd = { spent: Amounts } & (
  | { how: 'completed'; text: string; toolResult?: Json; structured?: Json }
  | { how: 'error'; code: string; message: string; retryable?: boolean }
  | { how: 'killed' }
  | { how: 'lost' }
  | { how: 'stale'; message: string }
  | { how: 'rate_limit'; message: string; resumeAt?: string }
  | { how: 'budget'; what: string }
);

/** The part of the job manager that a workflow calls; `app.ts` passes it in. */
export interface AgentJobs {
  /** The same key gives the same job, so a repeat after a crash starts nothing. */
  spawn(effectKey: string, spec: AgentJobSpec): Promise<string>;
  /** Resolves at the end of the turn under way, at once if it is over. Rejects when aborted, without ending the job. */
  wait(jobId: string, abort: AbortSignal): Promise<JobEnd>;
  /** Begins another turn, also of a job that has ended. Without text the job continues. Once per key. */
  send(effectKey: string, jobId: string, text?: string): Promise<void>;
  kill(jobId: string): Promise<void>;
  /** It worked on another host, or in a worktree that this run has no more: nothing is to be had of it here. */
  isLost?(jobId: string, worktreeId: string): boolean;
}
