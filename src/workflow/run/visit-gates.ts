import { ReefError } from '../../protocol/errors.ts';
import type { Gate, GateVerdict } from '../../protocol/workflow.ts';
import { type GateFolder, runInOrder } from '../../worktrees/merge/gate-checkout.ts';
import { gatesIn, SUCCESS } from '../language/names.ts';
import { gatesAt, settingsOf } from '../project/gate-commands.ts';
import type { VisitOrder } from '../walk/outcomes.ts';
import { gateKey, namedGate, notSetUp } from '../workers/gates.ts';
import type { GateSettings, Worker, WorkerContext, WorkerInput, WorkerOutput } from '../workers/worker.ts';
import { type BlockAt, type BranchRun, budgetOf } from './branch-run.ts';

interface GateVisit {
  order: VisitOrder;
  block: BlockAt;
  /** The gate of the block's worker. Others are judged by the worker for gates of any name. */
  own: { gate: Gate; worker: Worker };
  judged: { commit: string; tree: string };
  input: WorkerInput;
  context: WorkerContext;
}

/** The gates of a block in their order, up to the first that fails and blocks. */
export async function visitGates(at: BranchRun, visit: GateVisit): Promise<WorkerOutput> {
  const { run } = at.input;
  const verdicts: GateVerdict[] = [];
  let output: WorkerOutput = { signal: SUCCESS, new_payload: visit.input.execution_payload };
  for (const gate of gatesAt(run.gates, visit.own.gate, gatesIn(run.manifest))) {
    const input = { ...visit.input, execution_payload: output.new_payload };
    const { said, verdict } = await judge(at, { ...visit, input }, gate);
    verdicts.push(verdict);
    output = said;
    if (said.signal !== SUCCESS && verdict.blocks !== false) return { ...said, verdicts };
  }
  return { ...output, signal: SUCCESS, verdicts };
}

async function judge(at: BranchRun, visit: GateVisit, gate: string) {
  const settings = gateSettings(at, visit, gate);
  const known = await knownOf(at, visit, gate);
  const isRun = settings.command !== undefined && !known.reused;
  const said = isRun
    ? await inCheckout(at, visit, gate)
    : await work(at, visit, { gate, settings: { ...settings, ...(known.reused && { reused: true }) } });
  const failed = said.gate ? ('failed' as const) : ('not_run' as const);
  const verdict: GateVerdict = {
    gate,
    result: said.signal === SUCCESS ? 'passed' : failed,
    ...known,
    ...(at.input.run.gates[gate]?.blocks === false && { blocks: false }),
  };
  return { said, verdict };
}

/** What is known of a gate on these files. */
async function knownOf(
  { ports, input }: BranchRun,
  { judged }: GateVisit,
  gate: string,
): Promise<Pick<GateVerdict, 'key' | 'reused'>> {
  const { gates, manifest } = input.run;
  if (gates[gate] === undefined) return {};
  const key = await gateKey(settingsOf(gates, gate, manifest.workers), ports);
  return { key, ...(ports.hasPassed(judged.tree, key) && { reused: true }) };
}

function work(
  { ports }: BranchRun,
  { own, order, input, context }: GateVisit,
  { gate, settings }: { gate: string; settings: GateSettings },
): Promise<WorkerOutput> {
  const isOwn = gate === own.gate;
  const worker = isOwn ? own.worker : namedGate(gate, ports);
  const visitKey = isOwn ? order.key : `${order.key}/${gate}`;
  return worker(input, { ...context, gate: settings, visitKey });
}

/** The agent can write to the worktree, so the gate sees the same files in a checkout that the agent never had. */
async function inCheckout(at: BranchRun, visit: GateVisit, gate: string): Promise<WorkerOutput> {
  const { ports, input } = at;
  const names = Object.keys(input.run.gates);
  const earlier: string[] = [];
  for (const name of names.slice(0, names.indexOf(gate)))
    if ((await knownOf(at, visit, name)).reused) earlier.push(name);
  const run = async ({ folder }: GateFolder, name: string) => {
    const said = await work(at, visit, { gate: name, settings: { ...gateSettings(at, visit, name), folder } });
    return { said, passed: said.signal === SUCCESS };
  };
  try {
    const { said } = await ports.worktrees.inGateCheckout(input.worktree.id, visit.judged, (checkout) =>
      runInOrder(checkout, { gate, earlier, run: (name) => run(checkout, name) }),
    );
    return said;
  } catch (error) {
    if (!(error instanceof ReefError && error.details?.isByChange === true)) throw error;
    const context = { ...visit.context, gate: gateSettings(at, visit, gate) };
    return notSetUp(visit.input, context, `${error.details.log}`);
  }
}

/** Within what the run may still spend. */
function gateSettings(at: BranchRun, { order, block }: GateVisit, gate: string): GateSettings {
  const { gates, manifest } = at.input.run;
  const settings = settingsOf(gates, gate, manifest.workers);
  const timed = { ...block, roster: { ...block.roster, timeout_s: settings.timeoutMs / 1_000 } };
  return { ...settings, timeoutMs: (budgetOf(at, order, timed).seconds ?? 0) * 1_000 };
}
