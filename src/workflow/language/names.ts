import type { BlockDef, Gate, WorkerDef, WorkflowManifest } from '../../protocol/workflow.ts';

const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/;
const SIGNAL = /^SIGNAL:[A-Z][A-Z0-9_]{0,63}$/;
const SEGMENT_TYPE = /^[A-Z][A-Z0-9_]{0,63}$/;
const SEPARATOR = '__';

export type Signal = `SIGNAL:${string}`;
interface BlockAddress {
  node: string;
  name: string;
}

export const SUCCESS = 'SIGNAL:SUCCESS';
export const FAILURE = 'SIGNAL:FAILURE';
/** Only a key of transitions; nobody raises it. */
export const FAIL_DEFAULT = 'SIGNAL:FAIL_DEFAULT';

/** The engine raises these for an unacceptable result. Like a worker's signals they fall to the default. */
const VERDICTS = ['SIGNAL:VALIDATION_FAIL', 'SIGNAL:NO_CHANGES'] as const;
const EVENTS = [
  'SIGNAL:RETURNED',
  'SIGNAL:RESUMED',
  'SIGNAL:JOINED',
  'SIGNAL:FORK_FAILED',
  'SIGNAL:VISITS_EXHAUSTED',
  'SIGNAL:BUDGET_EXHAUSTED',
] as const;
export type EngineSignal = (typeof VERDICTS)[number] | (typeof EVENTS)[number];

const ENGINE_ONLY: ReadonlySet<string> = new Set([...VERDICTS, ...EVENTS]);
const UNDEFAULTED: ReadonlySet<string> = new Set(EVENTS);

export function isName(text: string): boolean {
  return NAME.test(text) && !text.includes(SEPARATOR);
}

export function isSignal(text: string): text is Signal {
  return SIGNAL.test(text);
}

export function isSegmentType(text: string): boolean {
  return SEGMENT_TYPE.test(text);
}

/** Signals a worker, or a person who skips a block, may give. */
export function isWorkerSignal(text: string): text is Signal {
  return isSignal(text) && !ENGINE_ONLY.has(text) && text !== FAIL_DEFAULT;
}

export function fallsToDefault(signal: string): boolean {
  return !UNDEFAULTED.has(signal);
}

export function blockIdOf(node: string, name: string): string {
  return `${node}${SEPARATOR}${name}`;
}

/** At the last separator: a node may end in an underscore, a block's name begins with none. */
export function parseBlockId(text: string): BlockAddress | undefined {
  const at = text.lastIndexOf(SEPARATOR);
  const address = { node: text.slice(0, at), name: text.slice(at + SEPARATOR.length) };
  return at > 0 && isName(address.node) && isName(address.name) ? address : undefined;
}

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

export function blockIn(manifest: WorkflowManifest, id: string): BlockDef | undefined {
  const address = parseBlockId(id);
  return address && manifest.nodes[address.node]?.blocks[address.name];
}

/** Scripted and native agents are known by their name; no list holds them. */
export function isByName(agent: string): boolean {
  return /^(?:scripted|native):./.test(agent);
}

export function gateOf(worker: WorkerName | undefined): Gate | undefined {
  return worker?.kind === 'internal' ? GATE_OF[worker.name] : undefined;
}

/** The gates that some block of the workflow runs. */
export function gatesIn({ nodes }: WorkflowManifest): Gate[] {
  const workers = Object.values(nodes).flatMap(({ blocks }) => Object.values(blocks).map(({ worker }) => worker));
  return [...new Set(workers.flatMap((worker) => gateOf(parseWorker(worker)) ?? []))];
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

/** The internal writer and every agent that is not read-only may change files. */
export function canWrite(worker: WorkerName | undefined, workers: WorkflowManifest['workers']): boolean {
  if (worker?.kind === 'agent') return rosterEntry(workers, worker)?.readonly !== true;
  return worker?.name === 'FileSystemWriter';
}
