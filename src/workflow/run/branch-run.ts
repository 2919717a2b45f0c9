import type { BlockDef, RunBudget, WorkerDef, WorkflowManifest } from '../../protocol/workflow.ts';
import type { Durable } from '../durable/durable.ts';
import { FAILURE, isWorkerSignal, parseBlockId, parseWorker, rosterEntry, type WorkerName } from '../language/names.ts';
import { allowance, type Ledger, raised } from '../walk/amounts.ts';
import type { BranchStart, VisitOrder } from '../walk/outcomes.ts';
import type { Walk } from '../walk/walk.ts';
import type { GateCommands } from '../workers/gate-commands.ts';
import type { WorkflowPorts } from './ports.ts';

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

/** What everything that works for one branch has at hand. */
export interface BranchRun {
  ports: WorkflowPorts;
  ledger: Ledger;
  durable: Durable;
  input: BranchInput;
  walk: Walk;
}

export interface BlockAt {
  def: BlockDef;
  worker: WorkerName;
  roster: WorkerDef;
}

const AGENT_SECONDS = 3_600;
const GATE_SECONDS = 900;

export function blockAt({ input: { run } }: BranchRun, { block }: VisitOrder): BlockAt {
  const address = parseBlockId(block);
  const def = address && run.manifest.nodes[address.node]?.blocks[address.name];
  const worker = def && parseWorker(def.worker);
  if (!def || !worker) throw new TypeError(`${block} has no worker`);
  return { def, worker, roster: rosterEntry(run.manifest.workers, worker) ?? {} };
}

/** The signals of its own transitions, and FAILURE. */
export function allowedSignals({ transitions }: BlockDef): string[] {
  const own = transitions.map(({ on_signal }) => on_signal).filter(isWorkerSignal);
  return [...new Set<string>([...own, FAILURE])];
}

/** What this visit may use. */
export function budgetOf({ input, ledger }: BranchRun, order: VisitOrder, { def, worker, roster }: BlockAt): RunBudget {
  const seconds = worker.kind === 'agent' ? AGENT_SECONDS : GATE_SECONDS;
  const own = { seconds: roster.timeout_s ?? seconds, ...def.budget };
  const limit = raised(runBudget(input.run), order.grants.run);
  return allowance(raised(own, order.grants.block), { limit, spent: ledger.spent(input.run.runId, order.key) });
}
