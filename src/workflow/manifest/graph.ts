import { nearestName } from '../../base/nearest.ts';
import { type Action, actionTargets, parseAction } from '../language/action.ts';
import type { Draft, DraftBlock } from './draft.ts';

/** Where blocks lead. A misspelt target counts as the nearest name, so that one slip is one finding. */
export interface Graph {
  /** The blocks that it may lead to, the return address included. */
  next: Map<string, Set<string>>;
  /** The blocks that its misspelt targets most likely mean. */
  guessed: Map<string, Set<string>>;
  calls: Map<string, Set<string>>;
  /** Blocks with a RETURN, a HALT_AND_FLAG or an unreadable action. */
  exits: Set<string>;
  entries: Map<string, string>;
}

export function actionOf(text: string | undefined): Action | undefined {
  const action = text === undefined ? undefined : parseAction(text);
  return action === undefined || 'error' in action ? undefined : action;
}

export function drawGraph(draft: Draft): Graph {
  const graph: Graph = {
    next: new Map(),
    guessed: new Map(),
    calls: new Map(),
    exits: new Set(),
    entries: new Map(),
  };
  for (const node of draft.nodes.values()) {
    const entry = node.fields.entry_block ?? '';
    const found = node.blocks.includes(entry) ? entry : (nearestName(entry, node.blocks) ?? node.blocks[0]);
    if (found !== undefined) graph.entries.set(node.id, found);
  }
  for (const block of draft.blocks.values()) drawBlock(draft, block, graph);
  return graph;
}

function drawBlock(draft: Draft, block: DraftBlock, graph: Graph): void {
  const targets = targetsOf(block);
  const isKnown = (target: string) => draft.blocks.has(target) || draft.nodes.has(target);
  const entered = (target: string) => graph.entries.get(target) ?? target;
  const unknown = targets.filter((target) => !isKnown(target));
  const actions = block.transitions.map(({ fields }) => actionOf(fields.action));
  const isExit = actions.some((action) => !action || action.do === 'return' || action.do === 'halt');
  if (isExit || unknown.length > 0) graph.exits.add(block.id);
  graph.next.set(block.id, new Set(targets.filter(isKnown).map(entered)));
  graph.guessed.set(block.id, new Set(unknown.flatMap((target) => nearestTarget(draft, target) ?? []).map(entered)));
  graph.calls.set(block.id, new Set(actions.flatMap((action) => (action?.do === 'call' ? [action.node] : []))));
}

function targetsOf(block: DraftBlock): string[] {
  const actions = block.transitions.flatMap(({ fields }) => actionOf(fields.action) ?? []);
  const targets = actions.flatMap(actionTargets);
  return block.fields.returns_to === undefined ? targets : [...targets, block.fields.returns_to];
}

export function nearestTarget(draft: Draft, target: string): string | undefined {
  return nearestName(target, target.includes('__') ? draft.blocks.keys() : draft.nodes.keys());
}

export function reachable(graph: Graph, from: Iterable<string>): Set<string> {
  const seen = new Set(from);
  for (const block of seen) {
    for (const next of [...(graph.next.get(block) ?? []), ...(graph.guessed.get(block) ?? [])]) seen.add(next);
  }
  return seen;
}

/** Groups of blocks that lead back to themselves, by Kosaraju's algorithm in linear time. */
export function loops(graph: Graph): string[][] {
  const back = reversed(graph);
  const done = new Set<string>();
  const groups: string[][] = [];
  for (const block of finishingOrder(graph).reverse()) {
    if (done.has(block)) continue;
    const group = [...grown(block, (member) => (back.get(member) ?? []).filter((from) => !done.has(from)))];
    for (const member of group) done.add(member);
    if (group.length > 1 || graph.next.get(block)?.has(block)) groups.push(group);
  }
  return groups;
}

function grown(from: string, next: (member: string) => Iterable<string>): Set<string> {
  const seen = new Set([from]);
  for (const member of seen) for (const each of next(member)) seen.add(each);
  return seen;
}

function reversed(graph: Graph): Map<string, string[]> {
  const back = new Map([...graph.next.keys()].map((block) => [block, [] as string[]]));
  for (const [from, targets] of graph.next) for (const to of targets) back.get(to)?.push(from);
  return back;
}

function finishingOrder(graph: Graph): string[] {
  const order: string[] = [];
  const seen = new Set<string>();
  for (const start of graph.next.keys()) {
    const stack = [{ block: start, targets: (graph.next.get(start) ?? new Set()).values() }];
    if (seen.has(start)) continue;
    seen.add(start);
    for (let top = stack.at(-1); top; top = stack.at(-1)) {
      const { value, done } = top.targets.next();
      if (done) {
        order.push(top.block);
        stack.pop();
      } else if (!seen.has(value)) {
        seen.add(value);
        stack.push({ block: value, targets: (graph.next.get(value) ?? new Set()).values() });
      }
    }
  }
  return order;
}

/** Nodes that can CALL their way back to themselves. */
export function recursions(draft: Draft, graph: Graph): string[] {
  const called = new Map<string, string[]>();
  for (const [id, entry] of graph.entries) {
    const frame = grown(entry, (block) => jumpsOf(draft, graph, block));
    called.set(
      id,
      [...frame].flatMap((block) => [...(graph.calls.get(block) ?? [])]),
    );
  }
  const reaches = (node: string) =>
    (called.get(node) ?? []).map((each) => grown(each, (next) => called.get(next) ?? []));
  return [...called.keys()].filter((node) => reaches(node).some((seen) => seen.has(node)));
}

/** Where a block leads without a CALL or FORK: what runs in the same frame. */
function jumpsOf(draft: Draft, graph: Graph, id: string): string[] {
  return (draft.blocks.get(id)?.transitions ?? []).flatMap(({ fields }) => {
    const action = actionOf(fields.action);
    const target = action?.do === 'jump' ? action.to : action?.do === 'call' ? action.returnTo : undefined;
    return target === undefined ? [] : [graph.entries.get(target) ?? target];
  });
}
