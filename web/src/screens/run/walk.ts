import type { BlockStatus, LogEntry, RunView } from '../../../../src/protocol/workflow.ts';
import type { Said } from '../../widgets/badge.tsx';

type Position = RunView['path'][number];

/** A step of the way a run took: one visit of a block. */
export interface Step extends Position {
  /** The first is 1. */
  n: number;
  status: BlockStatus;
  /** The signal it ended with. */
  signal?: string;
  entry?: LogEntry;
  /** The step before it, on its branch or on the one that it left. */
  from?: Step;
}

/** The block that is looked at, and which of its visits. */
export interface Chosen {
  block: string;
  /** Undefined: the block was not visited. */
  step: Step | undefined;
}

const keyOf = ({ block, visit, branch }: Position) =>
  branch === 'main' ? `${block}#${visit}` : `${branch}/${block}#${visit}`;

export const isSame = (a: Position, b: Position) => keyOf(a) === keyOf(b);

export function stepsOf(view: RunView): Step[] {
  const last = new Map<string, Step>();
  // A block that waits for leave to begin is on no path yet.
  const before = view.halts.filter((halt) => !view.path.some((position) => isSame(halt, position)));
  return [...view.path, ...before].map(({ block, visit, branch }, at) => {
    const position = { block, visit, branch };
    const entry = view.executionLog[keyOf(position)];
    const halted = view.halts.some((halt) => isSame(halt, position));
    const isUnset = view.gates.some((gate) => isSame(gate, position) && gate.result === 'not_run');
    const from = last.get(position.branch) ?? last.get('main');
    const step: Step = {
      ...position,
      n: at + 1,
      status: halted ? 'halted' : isUnset ? 'skipped' : (entry?.status ?? 'active'),
      ...(entry?.signal !== undefined && { signal: entry.signal }),
      ...(entry && { entry }),
      ...(from && { from }),
    };
    last.set(position.branch, step);
    return step;
  });
}

/** What is lit when somebody looks at the way as far as one step. */
export interface Lit {
  /** By block. */
  blocks: ReadonlyMap<string, { status: BlockStatus; visits: number }>;
  /** How often each edge was taken, by `from to`. */
  edges: ReadonlyMap<string, number>;
  /** The edge taken last. */
  newest: string | undefined;
}

export const edgeKey = (from: string, to: string) => `${from} ${to}`;

/** `isPast`: the way went on after the last of these steps. */
export function litBy(steps: readonly Step[], isPast: boolean): Lit {
  const blocks = new Map<string, { status: BlockStatus; visits: number }>();
  const edges = new Map<string, number>();
  let newest: string | undefined;
  for (const { block, status, from } of steps) {
    blocks.set(block, { status, visits: (blocks.get(block)?.visits ?? 0) + 1 });
    if (!from) continue;
    newest = edgeKey(from.block, block);
    edges.set(newest, (edges.get(newest) ?? 0) + 1);
  }
  const final = steps.at(-1);
  const isDone = !isPast && final?.status === 'complete' && final.entry?.endedAt !== undefined;
  return { blocks, edges, newest: isDone ? undefined : newest };
}

export const signalName = (signal: string) =>
  signal
    .replace(/^SIGNAL:/, '')
    .replace(/^FAIL_DEFAULT$/, 'ANY FAILURE')
    .replaceAll('_', ' ');

const STATUSES: Record<BlockStatus, Said> = {
  pending: { tone: 'calm', text: 'Planned' },
  active: { tone: 'works', text: 'At work' },
  complete: { tone: 'good', text: 'Done' },
  failed: { tone: 'bad', text: 'Failed' },
  halted: { tone: 'waits', text: 'Halted' },
  skipped: { tone: 'calm', text: 'Passed over' },
};

export const sayStatus = (status: BlockStatus): Said => STATUSES[status];
