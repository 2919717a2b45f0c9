import type { Json, WorkflowManifest } from '../../protocol/workflow.ts';

/** A node entered, with the place to go back to. The bottom one has none. */
export interface Frame {
  node: string;
  args: Record<string, Json>;
  returned: Record<string, Json>;
  /** Where the payload that this frame may see begins; absent: what is below sees. */
  payloadFrom?: number;
  returnTo?: Address;
}

/** Where RETURN leads: a block, or back into the block that called. */
export type Address = { block: string } | { caller: string; visit: number };

export function nodeOf(block: string): string {
  return block.slice(0, block.lastIndexOf('__'));
}

export function makeFrame(
  manifest: WorkflowManifest,
  frame: Pick<Frame, 'node' | 'args'> & { returnTo?: Address },
  payloadLength: number,
): Frame {
  const isStrict = manifest.nodes[frame.node]?.payload === 'args';
  return { ...frame, args: { ...frame.args }, returned: {}, ...(isStrict && { payloadFrom: payloadLength }) };
}

/** A JUMP into another node makes it the node of the frame; its own rule of the payload holds from here. */
export function moveFrame(
  manifest: WorkflowManifest,
  frame: Frame,
  to: { node: string; payloadLength: number },
): Frame {
  if (frame.node === to.node) return frame;
  const { payloadFrom: _, ...rest } = frame;
  const isStrict = manifest.nodes[to.node]?.payload === 'args';
  return { ...rest, node: to.node, ...(isStrict && { payloadFrom: to.payloadLength }) };
}

/** From the top down to and including the first boundary; the nearer key wins. */
export function inheritedContext(manifest: WorkflowManifest, frames: readonly Frame[]): Record<string, Json> {
  const gathered: Record<string, Json> = {};
  for (const { node } of [...frames].reverse()) {
    const { static_memory = {}, context_inheritance = false } = manifest.nodes[node] ?? {};
    for (const [key, value] of Object.entries(static_memory)) if (!Object.hasOwn(gathered, key)) gathered[key] = value;
    if (!context_inheritance) break;
  }
  return gathered;
}

export function firstVisible(frames: readonly Frame[]): number {
  return [...frames].reverse().find(({ payloadFrom }) => payloadFrom !== undefined)?.payloadFrom ?? 0;
}
