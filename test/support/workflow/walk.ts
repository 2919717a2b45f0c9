import type { BlockDef, Halt, Json, NodeDef, WorkflowManifest } from '../../../src/protocol/workflow.ts';
import type { Signal } from '../../../src/workflow/language/names.ts';
import type { StoredSegment } from '../../../src/workflow/memory/segment.ts';
import { NOTHING } from '../../../src/workflow/walk/amounts.ts';
import type { Answer, BranchEnd, BranchStart, VisitOrder, VisitOutcome } from '../../../src/workflow/walk/outcomes.ts';
import { Walk } from '../../../src/workflow/walk/walk.ts';

/** For tests: manifests in few words, and a walk driven by a script. */

export const AT = '2026-01-01T00:00:00.000Z';

/** `SUCCESS>JUMP:B`, with options after it. */
export function to(text: string, more: Partial<BlockDef['transitions'][number]> = {}): BlockDef['transitions'][number] {
  const at = text.indexOf('>');
  return { on_signal: `SIGNAL:${text.slice(0, at)}`, action: text.slice(at + 1), ...more };
}

export function block(
  transitions: (string | BlockDef['transitions'][number])[],
  more: Partial<BlockDef> = {},
): BlockDef {
  const worker = more.worker ?? 'Agent:claude';
  return { ...more, worker, transitions: transitions.map((each) => (typeof each === 'string' ? to(each) : each)) };
}

export function node(blocks: Record<string, BlockDef>, more: Partial<NodeDef> = {}): Omit<NodeDef, 'entry_block'> {
  return { context_inheritance: true, ...more, blocks };
}

export function manifest(nodes: Record<string, Omit<NodeDef, 'entry_block'>>): WorkflowManifest {
  const entries = Object.entries(nodes).map(([id, each]) => [
    id,
    { entry_block: `${id}__${Object.keys(each.blocks)[0]}`, ...each },
  ]);
  return { nodes: Object.fromEntries(entries) };
}

export function startAt(nodeId: string, more: Partial<BranchStart> = {}): BranchStart {
  const born = { args: {}, payload: [], payloadFrom: 0, visits: {}, applied: [], stepping: false, tree: null };
  return { ...born, branch: 'main', node: nodeId, ...more };
}

export function segmentOf(order: VisitOrder, type: string, content: Json): StoredSegment {
  const branch = order.key.slice(0, order.key.indexOf('/'));
  return { id: `${order.key}/1`, type, content, timestamp: AT, block: order.block, visit: order.visit, branch };
}

type Scripted = Signal | Partial<VisitOutcome> | undefined;

function outcomeOf(scripted: Scripted): VisitOutcome {
  const rest =
    typeof scripted === 'string' || scripted === undefined ? { signal: scripted ?? 'SIGNAL:SUCCESS' } : scripted;
  return { kind: 'done', at: AT, segments: [], spent: NOTHING, signal: 'SIGNAL:SUCCESS', ...rest } as VisitOutcome;
}

export interface Trail {
  visits: string[];
  halts: Halt[];
  end: BranchEnd | undefined;
  walk: Walk;
}

interface Script {
  /** How each visit goes; SUCCESS without. */
  visit?(order: VisitOrder, walk: Walk): Scripted;
  /** What a person says; nobody comes without. */
  answer?(halt: Halt, nth: number): Partial<Answer> | null | undefined;
  autoResume?: boolean;
}

/** Walks until the end, or until nobody answers a question. */
export function follow(nodes: WorkflowManifest, start: BranchStart, script: Script = {}): Trail {
  const blobs = { get: () => Buffer.alloc(0) };
  const walk = new Walk({ manifest: nodes, blobs, autoResume: script.autoResume ?? false }, start);
  const trail: Trail = { visits: [], halts: [], end: undefined, walk };
  for (let steps = 0; steps < 10_000; steps++) {
    const { command } = walk;
    if (command.do === 'end') return { ...trail, end: command.end };
    if (command.do === 'visit') {
      trail.visits.push(command.order.key.slice(start.branch.length + 1));
      walk.takeVisit(outcomeOf(script.visit?.(command.order, walk)));
    } else if (command.do === 'ask') {
      trail.halts.push(command.halt);
      const said = script.answer?.(command.halt, trail.halts.length);
      if (said === undefined) return trail;
      walk.takeAnswer(said === null ? undefined : { at: AT, verb: 'resume', ...said });
    } else {
      const ends = command.order.branches.map((branch) => {
        const inner = follow(nodes, branch, script);
        trail.visits.push(...inner.visits.map((key) => `${branch.branch}/${key}`));
        return inner.end ?? null;
      });
      walk.takeJoin({ at: AT, ends });
    }
  }
  throw new Error('the walk does not end');
}
