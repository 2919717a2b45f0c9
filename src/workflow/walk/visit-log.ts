import type { BlockStatus, Gate, GateView, LogEntry, RunView, WorkflowManifest } from '../../protocol/workflow.ts';
import { blockIn, FAILURE, gateOf, parseWorker } from '../language/names.ts';
import { viewSegment } from '../memory/segment.ts';
import { accountIn, sumAmounts } from './amounts.ts';
import type { Position, VisitOrder, VisitOutcome } from './outcomes.ts';

const FAILED = new Set<string>([FAILURE, 'SIGNAL:VALIDATION_FAIL', 'SIGNAL:NO_CHANGES']);

/** Collects what the visits of a run came to. */
export class VisitLog {
  readonly entries = new Map<string, LogEntry>();
  /** As each block's last visit left it. */
  readonly statuses = new Map<string, BlockStatus>();
  readonly gates: GateView[] = [];
  readonly path: Position[] = [];
  readonly warned: string[] = [];
  lastTransition: RunView['lastTransition'] = null;
  filesWritten = 0;
  linesWritten = 0;
  readonly #manifest: WorkflowManifest;
  readonly #onGate: ((gate: GateView) => void) | undefined;
  readonly #blocks = new Map<string, { worker: string; gate: Gate | undefined }>();
  readonly #spent = new Map<string, NonNullable<VisitOutcome['spent']>>();

  /** `onGate` is called with each verdict of a gate. */
  constructor(manifest: WorkflowManifest, onGate?: (gate: GateView) => void) {
    this.#manifest = manifest;
    this.#onGate = onGate;
  }

  get spent() {
    return sumAmounts(this.#spent.values());
  }

  visited(order: VisitOrder, outcome: VisitOutcome): void {
    const at = placeOf(order);
    const { jobId, tree, checkpoint, spent, took, gate, warned } = outcome;
    const segments = outcome.segments.map(viewSegment);
    const entry: LogEntry = {
      ...at,
      worker: this.#blockOf(order.block).worker,
      status: statusOf(outcome),
      endedAt: outcome.at,
      segments,
    };
    if (outcome.kind === 'done') entry.signal = outcome.signal;
    if (jobId !== undefined) entry.jobId = jobId;
    if (tree !== undefined) entry.tree = tree;
    if (checkpoint !== undefined) entry.checkpoint = checkpoint;
    if (spent) entry.spent = spent;
    if (took) entry.took = took;
    if (gate) entry.exit = { code: gate.code, timedOut: gate.timedOut };
    this.#enter(at);
    this.#write(at, entry);
    if (spent) this.#spent.set(accountIn(order, outcome), spent);
    if (warned) this.warned.push(...warned);
    this.filesWritten += outcome.filesWritten ?? 0;
    this.linesWritten += outcome.linesWritten ?? 0;
    this.#judge(at, outcome);
  }

  moved(from: string, to: string, signal: string): void {
    this.lastTransition = { from, to, signal };
  }

  skipped(at: Position, signal: string): void {
    this.#enter(at);
    const { worker, gate } = this.#blockOf(at.block);
    const before: Omit<LogEntry, 'status'> = this.entries.get(keyOf(at)) ?? { ...at, worker, segments: [] };
    this.#write(at, { ...before, status: 'skipped', signal });
    if (gate !== undefined) this.#pass({ ...at, gate, result: 'waived' }, before.tree);
  }

  /** One place on the path per visit, even after a rate limit. */
  #enter(at: Position): void {
    const last = this.path.at(-1);
    if (last?.block !== at.block || last.visit !== at.visit || last.branch !== at.branch) this.path.push(at);
  }

  #write(at: Position, entry: LogEntry): void {
    this.entries.set(keyOf(at), entry);
    this.statuses.set(at.block, entry.status);
  }

  #judge(at: Position, outcome: VisitOutcome): void {
    const { gate } = this.#blockOf(at.block);
    if (gate === undefined || outcome.kind !== 'done') return;
    const passed = FAILED.has(outcome.signal) ? 'failed' : 'passed';
    // Runs of an earlier Reef recorded no verdicts.
    const verdicts = outcome.verdicts ?? [{ gate, result: outcome.gate ? passed : 'not_run' }];
    for (const verdict of verdicts) this.#pass({ ...at, ...verdict }, outcome.tree);
  }

  #pass(gate: GateView, tree: string | undefined): void {
    const verdict = tree === undefined ? gate : { ...gate, tree };
    this.gates.push(verdict);
    this.#onGate?.(verdict);
  }

  #blockOf(id: string): { worker: string; gate: Gate | undefined } {
    const known = this.#blocks.get(id);
    if (known) return known;
    const worker = blockIn(this.#manifest, id)?.worker ?? '';
    const block = { worker, gate: gateOf(parseWorker(worker)) };
    this.#blocks.set(id, block);
    return block;
  }
}

/** `block#visit`, and with its branch where there is more than one. */
export function keyOf({ block, visit, branch }: Position): string {
  return branch === 'main' ? `${block}#${visit}` : `${branch}/${block}#${visit}`;
}

export function placeOf({ key, block, visit }: VisitOrder): Position {
  return { block, visit, branch: key.slice(0, key.indexOf('/')) };
}

function statusOf(outcome: VisitOutcome): BlockStatus {
  if (outcome.kind === 'parked') return 'halted';
  return outcome.kind === 'done' && !FAILED.has(outcome.signal) ? 'complete' : 'failed';
}
