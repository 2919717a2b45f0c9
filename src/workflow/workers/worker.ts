import type { GateVerdict, Json } from '../../protocol/workflow.ts';
import type { Signal } from '../language/names.ts';
import type { ContextSegment } from '../memory/segment.ts';
import type { GateFacts } from '../walk/outcomes.ts';

interface BlockContract {
  task: string;
  instructions?: string;
  persona?: string;
  /** The signals that the worker may give. */
  signals: string[];
  args: Record<string, Json>;
  returned: Record<string, Json>;
  validationSchema?: string;
}

export interface Artifact {
  path: string;
  content: string;
}

export interface SystemMetadata {
  worktree_path: string;
  worktree_id: string;
  block_id: string;
  run_id: string;
  visit: number;
  branch: string;
}

/** The five layers, assembled anew at each visit. */
export interface WorkerInput {
  execution_payload: ContextSegment[];
  block_contract: BlockContract;
  inherited_context: Record<string, Json>;
  primary_artifacts: Artifact[];
  system_metadata: SystemMetadata;
}

export interface WorkerOutput {
  signal: Signal;
  /** The given payload and what the worker adds. */
  new_payload: ContextSegment[];
  stats?: { filesWritten?: number; linesWritten?: number };
  /** Segments that are now in the files or the plan; they are never applied again. */
  applied?: string[];
  gate?: GateFacts;
  /** Of each gate that the worker ran or knew. */
  verdicts?: GateVerdict[];
  /** Of gates, in seconds: the set-up of the checkout they ran in, and they themselves. */
  took?: { setUp: number; gate: number };
}

export interface GateSettings {
  /** Absent if the gate is not configured. */
  command?: string[];
  timeoutMs: number;
  /** Where it runs instead of the worktree, which logs name all the same. */
  folder?: string;
  report?: string;
  minTests?: number;
  /** It has passed on the very same files, so it does not run. */
  reused?: true;
}

export interface WorkerContext {
  /** Prefix of the ids of segments made in this visit. */
  visitKey: string;
  now(): Date;
  abort: AbortSignal;
  isApplied(segmentId: string): boolean;
  gate: GateSettings;
}

/** A worker knows only its arguments. */
export type Worker = (input: WorkerInput, context: WorkerContext) => Promise<WorkerOutput>;

type Made = Pick<ContextSegment, 'type' | 'content'> & Partial<Pick<ContextSegment, 'outcome' | 'filePath'>>;

/** Segments of this visit. A repeat after a crash gives the same ids. */
export function makeSegments(
  { block_id, visit, branch }: SystemMetadata,
  context: Pick<WorkerContext, 'visitKey' | 'now'>,
  made: readonly Made[],
): ContextSegment[] {
  const timestamp = context.now().toISOString();
  const place = { block: block_id, visit, branch, timestamp };
  return made.map((each, index) => ({ ...each, ...place, id: `${context.visitKey}/${index + 1}` }));
}
