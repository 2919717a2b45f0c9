import type { RunView, WorkflowManifest } from '../../protocol/workflow.ts';
import { type Action, parseAction } from '../language/action.ts';
import { blockIdOf } from '../language/names.ts';

/** The static part of a view: every block the start node can lead to, and the transitions between them. */
export function drawRunGraph(manifest: WorkflowManifest, nodeId: string): RunView['graph'] {
  const transitions = Object.entries(manifest.nodes).flatMap(([node, { blocks }]) =>
    Object.entries(blocks).flatMap(([name, block]) =>
      block.transitions.flatMap(({ on_signal, action }) =>
        targetsOf(parseAction(action)).map((to) => ({
          from: blockIdOf(node, name),
          to: enter(manifest, to),
          signal: on_signal,
        })),
      ),
    ),
  );
  const blocks = new Set([enter(manifest, nodeId)]);
  for (const block of blocks) {
    for (const { from, to } of transitions) if (from === block && to.includes('__')) blocks.add(to);
  }
  return { nodeId, blocks: [...blocks], transitions: transitions.filter(({ from }) => blocks.has(from)) };
}

function enter(manifest: WorkflowManifest, target: string): string {
  return manifest.nodes[target]?.entry_block ?? target;
}

function targetsOf(action: Action | { error: string }): string[] {
  if ('error' in action) return [];
  switch (action.do) {
    case 'jump':
      return [action.to];
    case 'call':
      return action.returnTo === undefined ? [action.node] : [action.node, action.returnTo];
    case 'fork':
      return action.joinTo === undefined ? action.nodes : [...action.nodes, action.joinTo];
    case 'return':
      return ['RETURN'];
    case 'halt':
      return ['HALT_AND_FLAG'];
  }
}
