import { openSegment, type StoredSegment } from '../memory/segment.ts';
import { shapeView } from '../memory/shape-view.ts';
import type { VisitOrder } from '../walk/outcomes.ts';
import { fileContentOf, WRITE_TYPES } from '../workers/file-system-writer.ts';
import type { Artifact, WorkerInput } from '../workers/worker.ts';
import { allowedSignals, type BlockAt, type BranchRun, metadataOf } from './branch-run.ts';
import type { DegradedSlice } from './ports.ts';

const LARGEST_ARTIFACT = 256 * 1024;
const MOST_ARTIFACTS = 100;

export interface Assembled {
  input: WorkerInput;
  /** How each shown segment is kept. */
  stored: Map<string, StoredSegment>;
  degraded: DegradedSlice[];
}

/** The five layers for one visit. A worker returns only layer 1; the others are projections. */
export async function assembleInput(at: BranchRun, order: VisitOrder, block: BlockAt): Promise<Assembled> {
  const { ports, input, walk } = at;
  const { block: block_id, visit } = order;
  const seen = walk.seen();
  const here = { block: block_id, visit, branch: walk.branch, timestamp: ports.clock.now().toISOString() };
  const open = seen.segments.map((segment) => openSegment(segment, ports.blobs));
  const shaped = shapeView({ segments: open, inherited: seen.inherited }, block.def.payload_merge_strategy ?? [], here);
  const { instructions, validationSchema } = block.def;
  const { persona } = block.roster;
  const isAgent = block.worker.kind === 'agent';
  const context = isAgent ? await readContext(at, block) : undefined;
  const artifacts = isAgent ? await readArtifacts(at, block, shaped.segments) : [];
  return {
    stored: new Map(seen.segments.map((segment) => [segment.id, segment])),
    degraded: context?.degraded ?? [],
    input: {
      execution_payload: shaped.segments,
      block_contract: {
        task: input.run.task,
        ...(instructions !== undefined && { instructions }),
        ...(persona !== undefined && { persona }),
        ...(validationSchema !== undefined && { validationSchema }),
        signals: allowedSignals(block.def),
        args: seen.args,
        returned: seen.returned,
      },
      inherited_context: shaped.inherited,
      primary_artifacts: context ? [...artifacts, { path: 'code context', content: context.text }] : artifacts,
      system_metadata: metadataOf(at, order),
    },
  };
}

/** The files that the block and write segments name, as they are now. */
async function readArtifacts(
  { ports, input }: BranchRun,
  { def }: BlockAt,
  segments: WorkerInput['execution_payload'],
): Promise<Artifact[]> {
  const dir = ports.openDir(input.worktree.path);
  const written = segments.filter(({ type }) => WRITE_TYPES.has(type)).map((segment) => fileContentOf(segment));
  const paths = new Set([
    ...(def.artifacts ?? []),
    ...written.flatMap((file) => ('filePath' in file ? [file.filePath] : [])),
  ]);
  const state = (await ports.repoState?.(input.worktree.path)) ?? '';
  const artifacts: Artifact[] = state === '' ? [] : [{ path: 'repository state', content: state }];
  for (const path of [...paths].slice(0, MOST_ARTIFACTS)) {
    const content = await dir.read(path, LARGEST_ARTIFACT).then(
      (bytes) => bytes.toString('utf8'),
      (error: Error) => `(cannot be shown: ${error.message})`,
    );
    artifacts.push({ path, content });
  }
  return artifacts;
}

async function readContext({ ports, input, walk }: BranchRun, { def }: BlockAt) {
  if (def.context === undefined) return undefined;
  return ports.codeContext?.({
    slices: def.context,
    budget: def.context_budget,
    worktreePath: input.worktree.path,
    task: input.run.task,
    args: walk.seen().args,
  });
}
