import type { StepScope } from '../durable/durable.ts';
import { gateOf, type InternalWorker } from '../language/names.ts';
import { NOTHING } from '../walk/amounts.ts';
import type { VisitOrder, VisitOutcome } from '../walk/outcomes.ts';
import { fileSystemWriter } from '../workers/file-system-writer.ts';
import { runBuilder, runLinter, testRunner } from '../workers/gates.ts';
import { updateChangePlan } from '../workers/update-change-plan.ts';
import type { Worker, WorkerOutput } from '../workers/worker.ts';
import { assembleInput } from './assemble-input.ts';
import type { BlockAt, BranchRun } from './branch-run.ts';
import type { WorkflowPorts } from './ports.ts';
import { visitGates } from './visit-gates.ts';
import { checkpoint, crashed, keep, newSegments, recordStep, stepInput, tried, visitFacts } from './visit-step.ts';

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
  if ('crash' in done) return { ...crashed(done.crash), ...facts };
  return { kind: 'done', ...done.ok, ...facts };
}

async function work(at: BranchRun, order: VisitOrder, block: BlockAt, scope: StepScope) {
  const { ports } = at;
  const gate = gateOf(block.worker);
  const judged = gate && (await ports.captures.now(at.input.worktree.path));
  const { input } = await assembleInput(at, order, block);
  const context = {
    visitKey: order.key,
    now: () => ports.clock.now(),
    abort: scope.abort,
    isApplied: (id: string) => at.walk.isApplied(id),
    gate: { timeoutMs: 0 },
  };
  const worker = workerOf(ports, block);
  const output = judged
    ? await visitGates(at, { order, block, own: { gate, worker }, judged, input, context })
    : await worker(input, context);
  const segments = keep(at, newSegments(input.execution_payload, output.new_payload));
  const kept = await checkpoint(at, order, block, scope);
  return { signal: output.signal, segments, ...(judged && { tree: judged.tree }), ...kept, ...told(output) };
}

function told({ stats = {}, applied, gate, verdicts, took }: WorkerOutput) {
  const facts = { ...(gate && { gate }), ...(verdicts && { verdicts }), ...(took && { took }) };
  return { ...stats, ...(applied && applied.length > 0 && { applied }), ...facts };
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
