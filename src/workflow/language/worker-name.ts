import type { Gate, WorkerDef, WorkflowManifest } from '../../protocol/workflow.ts';

const INTERNAL_WORKERS = ['TestRunner', 'FileSystemWriter', 'UpdateChangePlan', 'RunLinter', 'RunBuilder'] as const;
export type InternalWorker = (typeof INTERNAL_WORKERS)[number];

const GATE_OF: Partial<Record<InternalWorker, Gate>> = { TestRunner: 'test', RunLinter: 'lint', RunBuilder: 'build' };

export type WorkerName = { kind: 'internal'; name: InternalWorker } | { kind: 'agent'; name: string };

/** `Worker:X` is RoboSmith's spelling of `Agent:X`. */
export function parseWorker(text: string): WorkerName | undefined {
  const at = text.indexOf(':');
  const [kind, name] = [text.slice(0, at), text.slice(at + 1)];
  if (at < 0 || name === '' || /\s/.test(name)) return undefined;
  if (kind === 'Agent' || kind === 'Worker') return { kind: 'agent', name };
  const internal = INTERNAL_WORKERS.find((each) => each === name);
  return kind === 'Internal' && internal ? { kind: 'internal', name: internal } : undefined;
}

/** Scripts and agents of the user's own are there by their name; nobody lists them. */
export function isByName(agent: string): boolean {
  return /^(?:scripted|native):./.test(agent);
}

export function gateOf(worker: WorkerName | undefined): Gate | undefined {
  return worker?.kind === 'internal' ? GATE_OF[worker.name] : undefined;
}

/** The roster names a worker as blocks do, or by its bare name. */
export function rosterEntry(workers: WorkflowManifest['workers'], worker: WorkerName): WorkerDef | undefined {
  const spellings =
    worker.kind === 'internal'
      ? [`Internal:${worker.name}`, worker.name]
      : [`Agent:${worker.name}`, `Worker:${worker.name}`, worker.name];
  const key = spellings.find((spelling) => workers !== undefined && Object.hasOwn(workers, spelling));
  return key === undefined ? undefined : workers?.[key];
}

/** What may change files: the one internal writer, and every agent that is not said to be read-only. */
export function canWrite(worker: WorkerName | undefined, workers: WorkflowManifest['workers']): boolean {
  if (worker?.kind === 'agent') return rosterEntry(workers, worker)?.readonly !== true;
  return worker?.name === 'FileSystemWriter';
}
