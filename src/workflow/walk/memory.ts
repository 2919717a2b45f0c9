import type { Json, WorkflowManifest } from '../../protocol/workflow.ts';
import type { Scope } from '../language/guard.ts';
import { type Blobs, openSegment, type StoredSegment } from '../memory/segment.ts';
import type { BranchStart, Place } from './outcomes.ts';

/** What one visit can see of layers 1 and 3, and its arguments. */
export interface Seen {
  segments: StoredSegment[];
  inherited: Record<string, Json>;
  args: Record<string, Json>;
  returned: Record<string, Json>;
}

/** The payload only grows. The frames decide what of it and of static memory a visit sees. */
export class Memory {
  readonly #manifest: WorkflowManifest;
  readonly #blobs: Pick<Blobs, 'get'>;
  readonly #branch: string;
  readonly #payload: StoredSegment[];
  readonly #born: number;
  /** What lies before it is hidden from this branch. */
  readonly #floor: number;
  readonly #frames: [Frame, ...Frame[]];

  constructor(rules: { manifest: WorkflowManifest; blobs: Pick<Blobs, 'get'> }, start: BranchStart) {
    this.#manifest = rules.manifest;
    this.#blobs = rules.blobs;
    this.#branch = start.branch;
    this.#payload = [...start.payload];
    this.#born = start.payload.length;
    this.#floor = start.payloadFrom;
    this.#frames = [makeFrame(rules.manifest, { node: start.node, args: start.args }, this.#born)];
  }

  get top(): Frame {
    return this.#frames.at(-1) ?? this.#frames[0];
  }

  get depth(): number {
    return this.#frames.length - 1;
  }

  get length(): number {
    return this.#payload.length;
  }

  /** Where each RETURN will lead, the next one last. */
  get returnStack(): string[] {
    return this.#frames.flatMap(({ returnTo }) => {
      if (!returnTo) return [];
      return 'block' in returnTo ? [returnTo.block] : [returnTo.caller];
    });
  }

  add(...segments: StoredSegment[]): void {
    this.#payload.push(...segments);
  }

  made(): StoredSegment[] {
    return this.#payload.slice(this.#born);
  }

  /** What a branch forked here begins with. */
  legacy(): Pick<BranchStart, 'payload' | 'payloadFrom'> {
    return { payload: [...this.#payload], payloadFrom: this.#from() };
  }

  seen(): Seen {
    const { args, returned } = this.top;
    const segments = this.#payload.slice(this.#from());
    return { segments, inherited: inheritedContext(this.#manifest, this.#frames), args, returned };
  }

  bind(args: Record<string, Json>): void {
    Object.assign(this.top.args, args);
  }

  moveTo(block: string): void {
    const to = { node: nodeOf(block), payloadLength: this.#payload.length };
    this.#frames[this.#frames.length - 1] = moveFrame(this.#manifest, this.top, to);
  }

  push(node: string, args: Record<string, Json>, returnTo: Address): void {
    this.#frames.push(makeFrame(this.#manifest, { node, args, returnTo }, this.#payload.length));
  }

  pop(returned: Record<string, Json>): void {
    this.#frames.pop();
    Object.assign(this.top.returned, returned);
  }

  scope(at: Place, visits: number): Scope {
    const from = this.#from();
    const newest = (isWanted: (segment: StoredSegment) => boolean): Json => {
      const index = this.#payload.findLastIndex(isWanted);
      const found = index >= from ? this.#payload[index] : undefined;
      return found ? ({ ...openSegment(found, this.#blobs) } as Json) : null;
    };
    return {
      last: (type) => newest((segment) => segment.type === type),
      here: (type) => newest((segment) => segment.type === type && this.#isOf(segment, at)),
      count: (type) => this.#payload.slice(from).filter((segment) => segment.type === type).length,
      visits,
      args: this.top.args,
      returned: this.top.returned,
    };
  }

  /** Whether a visit ended with an error and not with an answer. */
  hasFailed(at: Place): boolean {
    return this.#payload.findLast((segment) => this.#isOf(segment, at))?.type === 'ERROR';
  }

  /** What was wrong first with the answers of a visit that gave no usable one. */
  firstFault(at: Place): string | undefined {
    const told = this.#payload.findLast((segment) => segment.type === 'VALIDATION_ERROR' && this.#isOf(segment, at));
    const { faults } = (told?.content ?? {}) as { faults?: unknown };
    return Array.isArray(faults) && typeof faults[0] === 'string' ? faults[0] : undefined;
  }

  /** The end of what a visit said last. */
  excerpt(at: Place): string | undefined {
    const last = this.#payload.findLast((segment) => this.#isOf(segment, at));
    if (!last) return undefined;
    const text = last.blob?.tail ?? (typeof last.content === 'string' ? last.content : JSON.stringify(last.content));
    return text.slice(-2_000);
  }

  #from(): number {
    return Math.max(this.#floor, firstVisible(this.#frames));
  }

  #isOf(segment: StoredSegment, { block, visit }: Place): boolean {
    return segment.block === block && segment.visit === visit && segment.branch === this.#branch;
  }
}

/** A node that was entered, and where RETURN leads. The bottom frame has no return. */
export interface Frame {
  node: string;
  args: Record<string, Json>;
  returned: Record<string, Json>;
  /** Where the visible payload begins; absent: as in the frame below. */
  payloadFrom?: number;
  returnTo?: Address;
}

/** Where RETURN leads: a block, or back into the block that called. */
export type Address = { block: string } | { caller: string; visit: number };

function nodeOf(block: string): string {
  return block.slice(0, block.lastIndexOf('__'));
}

function makeFrame(
  manifest: WorkflowManifest,
  frame: Pick<Frame, 'node' | 'args'> & { returnTo?: Address },
  payloadLength: number,
): Frame {
  const isStrict = manifest.nodes[frame.node]?.payload === 'args';
  return { ...frame, args: { ...frame.args }, returned: {}, ...(isStrict && { payloadFrom: payloadLength }) };
}

/** A JUMP into another node changes the frame's node, and that node's rule for the payload holds. */
function moveFrame(manifest: WorkflowManifest, frame: Frame, to: { node: string; payloadLength: number }): Frame {
  if (frame.node === to.node) return frame;
  const { payloadFrom: _, ...rest } = frame;
  const isStrict = manifest.nodes[to.node]?.payload === 'args';
  return { ...rest, node: to.node, ...(isStrict && { payloadFrom: to.payloadLength }) };
}

/** From the top frame down to the first boundary; the nearer key wins. */
function inheritedContext(manifest: WorkflowManifest, frames: readonly Frame[]): Record<string, Json> {
  const gathered: Record<string, Json> = {};
  for (const { node } of [...frames].reverse()) {
    const { static_memory = {}, context_inheritance = false } = manifest.nodes[node] ?? {};
    for (const [key, value] of Object.entries(static_memory)) if (!Object.hasOwn(gathered, key)) gathered[key] = value;
    if (!context_inheritance) break;
  }
  return gathered;
}

function firstVisible(frames: readonly Frame[]): number {
  return [...frames].reverse().find(({ payloadFrom }) => payloadFrom !== undefined)?.payloadFrom ?? 0;
}
