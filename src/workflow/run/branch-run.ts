import type { BlockDef, RunBudget, WorkerDef } from '../../protocol/workflow.ts';
import type { Durable } from '../durable/durable-engine.ts';
import { FAILURE, isWorkerSignal, parseBlockId } from '../language/names.ts';
import { parseWorker, rosterEntry, type WorkerName } from '../language/worker-name.ts';
import type { VisitOrder } from '../walk/outcomes.ts';
import type { Walk } from '../walk/walk.ts';
import type { Ledger } from './ledger.ts';
import { allowance, raised } from './ledger.ts';
import type { WorkflowPorts } from './ports.ts';
import { type BranchInput, runBudget } from './run-input.ts';

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
