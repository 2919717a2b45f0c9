import { ReefError } from '../../protocol/errors.ts';
import type { StepScope } from '../durable/durable.ts';
import { gateOf, type InternalWorker } from '../language/names.ts';
import { NOTHING } from '../walk/amounts.ts';
import type { VisitOrder, VisitOutcome } from '../walk/outcomes.ts';
import { fileSystemWriter } from '../workers/file-system-writer.ts';
import { notSetUp, runBuilder, runLinter, testRunner } from '../workers/gates.ts';
import { updateChangePlan } from '../workers/update-change-plan.ts';
import type { GateSettings, Worker, WorkerContext, WorkerInput, WorkerOutput } from '../workers/worker.ts';
import { assembleInput } from './assemble-input.ts';
import { type BlockAt, type BranchRun, budgetOf } from './branch-run.ts';
import type { WorkflowPorts } from './ports.ts';
import { checkpoint, keep, newSegments, recordStep, stepInput, tried, visitFacts } from './visit-step.ts';

/** One step: the worker runs, and its effects are recorded with its result. */
export function visitInternal(at: BranchRun, order: VisitOrder, block: BlockAt): Promise<VisitOutcome> {
  const step = { key: order.key, input: stepInput(at, order, block) };
  return recordStep(at.durable, step, (scope) => execute(at, order, block, scope));
}

async function execute(at: BranchRun, order: VisitOrder, block: BlockAt, scope: StepScope): Promise<VisitOutcome> {
  const { clock } = at.ports;
  const began = clock.monotonicMs();
  const done = await tried(at.ports, scope, () => work(at, order, block, scope));
  const isGate = gateOf(block.worker) !== undefined;
  const seconds = isGate ? (clock.monotonicMs() - began) / 1_000 : 0;
  const facts = await visitFacts(at, order, { ...NOTHING, seconds });
  if ('crash' in done) {
    const { message, stack } = done.crash;
    return { kind: 'crashed', message, stack, segments: [], ...facts };
  }
  return { kind: 'done', ...done.ok, ...facts };
}

async function work(at: BranchRun, order: VisitOrder, block: BlockAt, scope: StepScope) {
  const { ports } = at;
  const isGate = gateOf(block.worker) !== undefined;
  const judged = isGate ? await ports.captures.now(at.input.worktree.path) : undefined;
  const { input } = await assembleInput(at, order, block);
  const context = {
    visitKey: order.key,
    now: () => ports.clock.now(),
    abort: scope.abort,
    isApplied: (id: string) => at.walk.isApplied(id),
    gate: gateSettings(at, order, block),
  };
  const worker = workerOf(ports, block);
  const output = judged ? await judge(at, judged, { worker, input, context }) : await worker(input, context);
  const segments = keep(at, newSegments(input.execution_payload, output.new_payload));
  const kept = await checkpoint(at, order, block);
  return { signal: output.signal, segments, ...(judged && { tree: judged.tree }), ...kept, ...told(output) };
}

interface GateVisit {
  worker: Worker;
  input: WorkerInput;
  context: WorkerContext;
}

/** The agent can write to the worktree, so the gate sees the same files in a checkout that the agent never had. */
async function judge(
  { ports, input: { worktree } }: BranchRun,
  judged: { commit: string; tree: string },
  { worker, input, context }: GateVisit,
): Promise<WorkerOutput> {
  if (context.gate.command === undefined) return worker(input, context);
  try {
    return await ports.worktrees.inGateCheckout(worktree.id, judged, (folder) =>
      worker(input, { ...context, gate: { ...context.gate, folder } }),
    );
  } catch (error) {
    if (!(error instanceof ReefError && error.details?.isByChange === true)) throw error;
    return notSetUp(input, context, `${error.details.log}`);
  }
}

function told({ stats = {}, applied, gate }: WorkerOutput) {
  return { ...stats, ...(applied && applied.length > 0 && { applied }), ...(gate && { gate }) };
}

const WORKERS: Record<InternalWorker, (ports: WorkflowPorts) => Worker> = {
  TestRunner: testRunner,
  RunLinter: runLinter,
  RunBuilder: runBuilder,
  FileSystemWriter: fileSystemWriter,
  UpdateChangePlan: updateChangePlan,
};

function workerOf(ports: WorkflowPorts, { worker }: BlockAt): Worker {
  if (worker.kind !== 'internal') throw new TypeError(`${worker.name} is not an internal worker`);
  return WORKERS[worker.name](ports);
}

function gateSettings(at: BranchRun, order: VisitOrder, block: BlockAt): GateSettings {
  const gate = gateOf(block.worker);
  const command = gate && at.input.run.gates[gate]?.command;
  const { report, min_tests } = block.roster;
  return {
    timeoutMs: (budgetOf(at, order, block).seconds ?? 0) * 1_000,
    ...(command && { command }),
    ...(report !== undefined && { report }),
    ...(min_tests !== undefined && { minTests: min_tests }),
  };
}
