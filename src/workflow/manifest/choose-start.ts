import { nearestName } from '../../base/nearest.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { WorkflowManifest } from '../../protocol/workflow.ts';

/** The node a run begins with; `undefined` means the shipped workflow. */
export function chooseStart(manifest: WorkflowManifest | undefined, named?: string): string | undefined {
  const nodes = Object.keys(manifest?.nodes ?? {});
  if (named === undefined) return manifest?.start ?? (nodes.length === 1 ? nodes[0] : undefined);
  if (nodes.includes(named)) return named;
  const near = nearestName(named, nodes);
  const hint = near === undefined ? `There are: ${nodes.join(', ') || 'none'}.` : `Did you mean "${near}"?`;
  throw new ReefError('wf_target', `There is no node "${named}". ${hint}`, { details: { nodes } });
}
