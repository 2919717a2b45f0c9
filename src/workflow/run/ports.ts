import type { Clock } from '../../base/clock.ts';
import type { SafeDir } from '../../base/safe-dir.ts';
import type { GateView, Json, RunEvent } from '../../protocol/workflow.ts';
import type { AgentJobs } from '../agent/agent-jobs.ts';
import type { PromptBudget } from '../agent/prompt.ts';
import type { Blobs } from '../memory/segment.ts';
import type { RunGate } from '../workers/run-gate.ts';
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
