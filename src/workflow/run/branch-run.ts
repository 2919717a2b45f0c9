import type { BlockDef, RunBudget, WorkerDef, WorkflowManifest } from '../../protocol/workflow.ts';
import type { Durable } from '../durable/durable.ts';
import { blockIn, FAILURE, isWorkerSignal, parseWorker, rosterEntry, type WorkerName } from '../language/names.ts';
import type { GateCommands } from '../project/gate-commands.ts';
import { GATE_SECONDS } from '../project/gate-commands.ts';
import { allowance, type Ledger, raised } from '../walk/amounts.ts';
import type { BranchEnd, BranchStart, VisitOrder } from '../walk/outcomes.ts';
import type { Walk } from '../walk/walk.ts';
import type { SystemMetadata } from '../workers/worker.ts';
import type { WorkflowPorts, Worktree } from './ports.ts';

/** The input of a run. Manifest and gates are frozen here, in the first entry of its journal. */
export interface RunInput {
  runId: string;
  task: string;
  node: string;
  manifest: WorkflowManifest;
  gates: GateCommands;
  worktree: { id: string; path: string };
  stepping: boolean;
  /** Continue without a person when a rate limit is over. */
  autoResume: boolean;
  /** For blocks whose worker names no agent. */
  agent?: string;
  /** They take over from it in this order, at a limit, an outage or a missing log-in. */
  fallbacks?: string[];
  /** For the same blocks, if they name no model. */
  model?: string;
  /** Together with the manifest's budget; the smaller one holds. */
  budget?: RunBudget;
  /** It goes on with an earlier run in the same worktree. */
  continued?: Continued;
}

export interface Continued {
  guidance: string;
  at: string;
  /** A job of the earlier run: its session is used by the first visit if that is one of the same block. */
  session?: { jobId: string; block: string };
}

/** The input of a branch: its run, its worktree, and what it begins with. */
export interface BranchInput {
  run: RunInput;
  worktree: { id: string; path: string };
  start: BranchStart;
}

export const WORKFLOW_BODY = 'workflow';
export const BRANCH_BODY = 'workflow-branch';

export function mainBranch(run: RunInput, tree: string | null): BranchStart {
  const born = { args: {}, payloadFrom: 0, visits: {}, applied: [], payload: guidanceOf(run) };
  return { ...born, branch: 'main', node: run.node, stepping: run.stepping, tree };
}

function guidanceOf({ continued, node }: RunInput): BranchStart['payload'] {
  if (!continued) return [];
  const place = { block: node, visit: 0, branch: 'main', timestamp: continued.at };
  return [{ ...place, id: 'continued/guidance', type: 'HUMAN_GUIDANCE', content: continued.guidance }];
}

/** The smaller of the two budgets for every kind. */
export function runBudget({ manifest, budget = {} }: RunInput): RunBudget {
  const limits: RunBudget = { ...manifest.budget };
  for (const key of ['tokens', 'turns', 'seconds', 'usd'] as const) {
    const own = budget[key];
    if (own !== undefined) limits[key] = Math.min(own, limits[key] ?? own);
  }
  return limits;
}

/** What the branches of a fork came to. It is joined again when a person has settled a conflict. */
export interface Forked {
  places: { ok: Worktree[] } | { crash: { message: string; stack: string; code?: string } };
  ends: (BranchEnd | null)[];
}

/** What all code that works for one branch is given. */
export interface BranchRun {
  ports: WorkflowPorts;
  ledger: Ledger;
  durable: Durable;
  input: BranchInput;
  walk: Walk;
  /** Forks of this branch by their key. */
  forks: Map<string, Forked>;
}

export interface BlockAt {
  def: BlockDef;
  worker: WorkerName;
  roster: WorkerDef;
}

const AGENT_SECONDS = 3_600;

export function blockAt({ input: { run } }: BranchRun, { block }: VisitOrder): BlockAt {
  const def = blockIn(run.manifest, block);
  const worker = def && parseWorker(def.worker);
  if (!def || !worker) throw new TypeError(`${block} has no worker`);
  return { def, worker, roster: rosterEntry(run.manifest.workers, worker) ?? {} };
}

export function metadataOf({ input, walk }: BranchRun, { block, visit }: VisitOrder): SystemMetadata {
  return {
    worktree_path: input.worktree.path,
    worktree_id: input.worktree.id,
    block_id: block,
    run_id: input.run.runId,
    visit,
    branch: walk.branch,
  };
}

/** The signals of its own transitions, and FAILURE. */
export function allowedSignals({ transitions }: BlockDef): string[] {
  const own = transitions.map(({ on_signal }) => on_signal).filter(isWorkerSignal);
  return [...new Set<string>([...own, FAILURE])];
}

export function budgetOf({ input, ledger }: BranchRun, order: VisitOrder, { def, worker, roster }: BlockAt): RunBudget {
  const seconds = worker.kind === 'agent' ? AGENT_SECONDS : GATE_SECONDS;
  const own = { seconds: roster.timeout_s ?? seconds, ...def.budget };
  const limit = raised(runBudget(input.run), order.grants.run);
  return allowance(raised(own, order.grants.block), { limit, spent: ledger.spent(input.run.runId, order.key) });
}
