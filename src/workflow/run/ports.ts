import type { Clock } from '../../base/clock.ts';
import type { SafeDir } from '../../base/safe-dir.ts';
import type { Amounts, GateView, Json, RunBudget, RunEvent } from '../../protocol/workflow.ts';
import type { PromptBudget } from '../agent/prompt.ts';
import type { Blobs } from '../memory/segment.ts';
import type { RunGate } from '../workers/gates.ts';
import type { ChangePlans } from '../workers/update-change-plan.ts';

/** What git tells a workflow of the files of a worktree. */
interface Captures {
  /** Of everything but ignored files; undefined where there is no repository. */
  treeId(worktreePath: string): Promise<string | undefined>;
  changedFiles(worktreePath: string, sinceTree: string): Promise<string[]>;
  /** Keeps the files on a ref; index, branch and files stay as they are. The same state again is the same tree. */
  checkpoint(worktreePath: string, ref: string, message: string): Promise<{ commit: string; tree: string }>;
}

/** Worktrees of FORK branches with `isolation: worktree`. Both are asked again, with the same key, after a crash. */
interface BranchWorktrees {
  create(effectKey: string, from: { id: string; path: string }): Promise<{ id: string; path: string }>;
  /** Brings the work of a branch into its parent; files that conflict are left as they were, the work kept on a ref. */
  mergeBack(
    effectKey: string,
    branch: { id: string; path: string },
    parent: { id: string; path: string },
  ): Promise<{ conflicts: string[] }>;
}

/** Everything a run reaches outside itself; `app.ts` wires it. */
export interface WorkflowPorts {
  clock: Clock;
  blobs: Blobs;
  openDir(root: string): SafeDir;
  runGate: RunGate;
  gateEnv(worktreePath: string): Record<string, string>;
  jobs: AgentJobs;
  plans: ChangePlans;
  captures: Captures;
  branchWorktrees: BranchWorktrees;
  prompt: PromptBudget;
  /** What is true of the worktree, in a few hundred tokens; empty while nothing has happened there. */
  repoState?(worktreePath: string): Promise<string>;
  /** Slices of code context, shown with the files. */
  codeContext?(request: CodeContextRequest): Promise<ShownContext>;
  /** Stores what gates said, for whoever merges. A run that is taken up again tells it again. */
  keepVerdicts(runId: string, verdicts: readonly GateView[]): void;
  defaultAgent: string;
  /** Whether a name is an agent, so that `Agent:claude` needs no roster. */
  isAgent(name: string): boolean;
  /** The stepping mode a person set while the run went on; undefined: nobody did. */
  steppingOf(runId: string): Promise<boolean | undefined>;
}

interface ShownContext {
  text: string;
  /** Slices that say in their place that they cannot be had. */
  degraded: DegradedSlice[];
}
export type DegradedSlice = Pick<RunEvent, 'slice' | 'code' | 'message'>;

interface CodeContextRequest {
  slices: unknown[];
  budget: number | undefined;
  worktreePath: string;
  task: string;
  args: Record<string, Json>;
}

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
