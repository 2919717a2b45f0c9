import { ReefError } from '../../protocol/errors.ts';
import type { ComparedFailures, Gate, GateVerdict } from '../../protocol/workflow.ts';
import { type GateFolder, runInOrder } from '../../worktrees/merge/gate-checkout.ts';
import { gatesIn, SUCCESS } from '../language/names.ts';
import { readableContent } from '../memory/segment.ts';
import { gatesAt, settingsOf } from '../project/gate-commands.ts';
import type { VisitOrder } from '../walk/outcomes.ts';
import { gateKey, namedGate, notSetUp } from '../workers/gates.ts';
import {
  type GateSettings,
  makeSegments,
  type Worker,
  type WorkerContext,
  type WorkerInput,
  type WorkerOutput,
} from '../workers/worker.ts';
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
  const took = { setUp: 0, gate: 0 };
  let output: WorkerOutput = { signal: SUCCESS, new_payload: visit.input.execution_payload };
  for (const gate of gatesAt(run.gates, visit.own.gate, gatesIn(run.manifest))) {
    const input = { ...visit.input, execution_payload: output.new_payload };
    const { said, verdict } = await judge(at, { ...visit, input, took }, gate);
    verdicts.push(verdict);
    output = said;
    if (said.signal !== SUCCESS && verdict.blocks !== false) return { ...said, verdicts, took };
  }
  return { ...output, signal: SUCCESS, verdicts, took };
}

/** Its seconds so far; each gate adds its own. */
type Timed = GateVisit & { took: { setUp: number; gate: number } };

async function judge(at: BranchRun, visit: Timed, gate: string): Promise<{ said: WorkerOutput; verdict: GateVerdict }> {
  const settings = gateSettings(at, visit, gate);
  const known = await knownOf(at, visit, gate);
  const told = toldBefore(visit, gate);
  if (told) {
    const said: WorkerOutput = { signal: SUCCESS, new_payload: visit.input.execution_payload };
    return { said, verdict: { gate, result: 'failed', ...known, compared: told } };
  }
  const isRun = settings.command !== undefined && !known.reused;
  const said = isRun
    ? await inCheckout(at, visit, gate)
    : await work(at, visit, { gate, settings: { ...settings, ...(known.reused && { reused: true }) } });
  const failed = said.gate ? ('failed' as const) : ('not_run' as const);
  const compared = said.signal !== SUCCESS && isRun ? await compare(at, visit, { gate, said }) : undefined;
  const verdict: GateVerdict = {
    gate,
    result: said.signal === SUCCESS ? 'passed' : failed,
    ...known,
    ...(at.input.run.gates[gate]?.blocks === false && { blocks: false }),
    ...(compared && { compared }),
  };
  return { said: compared ? withTold(visit, { gate, said, compared }) : said, verdict };
}

const ALREADY_FAILING = 'ALREADY_FAILING';

/** The agent knows that nothing new fails on exactly these files, and has left them so. */
function toldBefore({ input, judged }: GateVisit, gate: string): ComparedFailures | undefined {
  for (const { type, content, block } of input.execution_payload) {
    // An agent may return a segment of any type: only what this gate itself said counts.
    if (type !== ALREADY_FAILING || block !== input.system_metadata.block_id) continue;
    const told = content as unknown as Told;
    if (told.gate === gate && told.tree === judged.tree && !told.isNew) return { already: told.already, fresh: [] };
  }
  return undefined;
}

interface Told extends ComparedFailures {
  gate: string;
  tree: string;
  isNew: boolean;
}

async function compare(
  { ports, input }: BranchRun,
  visit: GateVisit,
  { gate, said }: { gate: string; said: WorkerOutput },
) {
  if (input.run.gates[gate]?.blocks === false) return undefined;
  const [first] = said.new_payload.slice(visit.input.execution_payload.length);
  return first && ports.worktrees.compareWithBase(input.worktree.id, gate, readableContent(first.content, 2));
}

/** What failed before the change is not the agent's fault, and it is told so. */
function withTold(
  { input, context, judged, order }: GateVisit,
  { gate, said, compared }: { gate: string; said: WorkerOutput; compared: ComparedFailures },
): WorkerOutput {
  const message =
    compared.fresh.length === 0
      ? `${gate} fails only where it failed before the change. If the task asks for it, mend it; if not, change nothing more and end with success.`
      : `Since the change ${gate} fails in what is listed as fresh: mend that. What is listed as already failed before, and is not your doing.`;
  const content = { message, gate, tree: judged.tree, isNew: compared.fresh.length > 0, ...compared };
  const at = { ...context, visitKey: `${order.key}/${gate}/before` };
  const [told] = makeSegments(input.system_metadata, at, [{ type: ALREADY_FAILING, content }]);
  return { ...said, new_payload: [...said.new_payload, ...(told ? [told] : [])] };
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
async function inCheckout(at: BranchRun, visit: Timed, gate: string): Promise<WorkerOutput> {
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
    const { said } = await ports.worktrees.inGateCheckout(input.worktree.id, visit.judged, async (checkout) => {
      const began = ports.clock.monotonicMs();
      const judged = await runInOrder(checkout, { gate, earlier, run: (name) => run(checkout, name) });
      visit.took.setUp += checkout.setUpSeconds;
      visit.took.gate += (ports.clock.monotonicMs() - began) / 1_000;
      return judged;
    });
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
