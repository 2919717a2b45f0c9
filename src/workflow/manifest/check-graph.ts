import { canWrite, parseWorker, rosterEntry, SUCCESS } from '../language/names.ts';
import type { KnownAgents } from './check-block.ts';
import type { Draft, DraftBlock, DraftNode, Report } from './draft.ts';
import { actionOf, drawGraph, type Graph, loops, reachable, recursions } from './graph.ts';

export function checkGraph(draft: Draft, report: Report): void {
  const graph = drawGraph(draft);
  checkReach(draft, graph, report);
  for (const loop of loops(graph)) checkLoop(draft, loop, report);
  for (const node of draft.nodes.values()) checkExit(node, graph, report);
  for (const id of recursions(draft, graph)) {
    const path = draft.nodes.get(id)?.path ?? [];
    report('wf_recursion', path, `${id} can call itself; more than 32 calls deep the run halts`);
  }
  for (const block of draft.blocks.values()) {
    checkReentry(block, report);
    checkForkWriters(draft, { block, graph }, report);
  }
}

function checkReach(draft: Draft, graph: Graph, report: Report): void {
  const start = draft.start === undefined ? undefined : graph.entries.get(draft.start);
  // Without a `start` every node may be run by its name.
  const seen = reachable(graph, start === undefined ? graph.entries.values() : [start]);
  for (const block of draft.blocks.values()) {
    if (!seen.has(block.id)) report('wf_unreachable', block.path, `nothing leads to ${block.id}`);
  }
}

function checkLoop(draft: Draft, loop: string[], report: Report): void {
  const members = loop.flatMap((id) => draft.blocks.get(id) ?? []);
  const [first] = [...draft.blocks.values()].filter((block) => loop.includes(block.id));
  if (first && members.every(({ fields }) => fields.max_visits === undefined)) {
    report('wf_uncapped_loop', first.path, `${loop.join(', ')} lead back to themselves and none has max_visits`);
  }
}

function checkExit(node: DraftNode, graph: Graph, report: Report): void {
  const entry = graph.entries.get(node.id);
  if (entry === undefined) return;
  const hasExit = [...reachable(graph, [entry])].some((block) => graph.exits.has(block));
  if (!hasExit) report('wf_no_exit', node.path, `from ${node.id} nothing leads to RETURN or HALT_AND_FLAG`);
}

/** A CALL comes back to the calling block, which on SUCCESS is a circle. */
function checkReentry(block: DraftBlock, report: Report): void {
  const returns =
    block.fields.returns_to !== undefined ||
    block.transitions.some(({ fields }) => fields.on_signal === 'SIGNAL:RETURNED');
  for (const { path, fields } of block.transitions) {
    const action = actionOf(fields.action);
    if (action?.do !== 'call' || fields.on_signal !== SUCCESS || action.returnTo !== undefined || returns) continue;
    report('wf_reentry', [...path, 'action'], `after its success ${block.id} calls ${action.node} and then runs again`);
  }
}

function checkForkWriters(draft: Draft, at: { block: DraftBlock; graph: Graph }, report: Report): void {
  for (const { path, fields } of at.block.transitions) {
    const action = actionOf(fields.action);
    if (action?.do !== 'fork' || fields.isolation === 'worktree') continue;
    const writing = action.nodes.filter((node) => {
      const entry = at.graph.entries.get(node);
      return entry !== undefined && [...reachable(at.graph, [entry])].some((id) => writes(draft, id));
    });
    if (writing.length > 1) {
      report('wf_fork_writers', [...path, 'action'], `${writing.join(' and ')} would write into one worktree at once`);
    }
  }
}

function writes(draft: Draft, id: string): boolean {
  return canWrite(parseWorker(draft.blocks.get(id)?.fields.worker ?? ''), draft.workers);
}

/** A budget in dollars cannot end an agent that reports no cost. */
export function checkUsd(draft: Draft, agents: KnownAgents, report: Report): void {
  const silent = (block: DraftBlock): string | undefined => {
    const worker = parseWorker(block.fields.worker ?? '');
    if (worker?.kind !== 'agent') return undefined;
    const agent = rosterEntry(draft.workers, worker)?.agent ?? worker.name;
    return Object.hasOwn(agents, agent) && agents[agent]?.reportsCost === false ? agent : undefined;
  };
  const blocks = [...draft.blocks.values()];
  const anywhere = blocks.map(silent).find((agent) => agent !== undefined);
  if (draft.budget?.usd !== undefined && anywhere !== undefined) {
    report('wf_usd_unreported', ['budget', 'usd'], `${anywhere} reports no cost: this limit cannot end it`);
  }
  for (const block of blocks) {
    const agent = silent(block);
    if (block.fields.budget?.usd !== undefined && agent !== undefined) {
      report('wf_usd_unreported', [...block.path, 'budget', 'usd'], `${agent} reports no cost: this cannot end it`);
    }
  }
}
