import type { RunBudget, WorkflowManifest } from '../../protocol/workflow.ts';
import type { BranchStart } from '../walk/outcomes.ts';
import type { GateCommands } from '../workers/gate-commands.ts';

/** What a run is started with: manifest and gates are frozen here, in the first entry of its journal. */
export interface RunInput {
  runId: string;
  task: string;
  node: string;
  manifest: WorkflowManifest;
  gates: GateCommands;
  worktree: { id: string; path: string };
  stepping: boolean;
  /** Go on by itself when a rate limit is over. */
  autoResume: boolean;
  /** For blocks whose worker names no agent; else the default one. */
  agent?: string;
  /** For the same blocks, where they name no model. */
  model?: string;
  /** Beside that of the manifest; the smaller holds. */
  budget?: RunBudget;
}

/** The input of a branch: the run it belongs to, where it works, and what it was born with. */
export interface BranchInput {
  run: RunInput;
  worktree: { id: string; path: string };
  start: BranchStart;
}

export const WORKFLOW_BODY = 'workflow';
export const BRANCH_BODY = 'workflow-branch';

export function mainBranch(run: RunInput, tree: string | null): BranchStart {
  const born = { args: {}, payload: [], payloadFrom: 0, visits: {}, applied: [] };
  return { ...born, branch: 'main', node: run.node, stepping: run.stepping, tree };
}

/** The smaller of the two in every respect. */
export function runBudget({ manifest, budget = {} }: RunInput): RunBudget {
  const limits: RunBudget = { ...manifest.budget };
  for (const key of ['tokens', 'turns', 'seconds', 'usd'] as const) {
    const own = budget[key];
    if (own !== undefined) limits[key] = Math.min(own, limits[key] ?? own);
  }
  return limits;
}
