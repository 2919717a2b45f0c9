import type { Clock } from '../../base/clock.ts';
import type { SafeDir } from '../../base/safe-dir.ts';
import type { Json } from '../../protocol/workflow.ts';
import type { ContextPartitionerService } from '../partitioner/context-partitioner.ts';
import type { Count } from './fit-levels.ts';
import { isProblem, parseSlice } from './parse-slice.ts';
import { type Degraded, type RenderedContext, renderSlices } from './render-slices.ts';
import { createSliceAsk } from './slice-ask.ts';

export interface CodeContextParts {
  service: ContextPartitionerService;
  servers: { ensureServer(worktreePath: string): Promise<unknown> };
  openDir(root: string): Pick<SafeDir, 'read'>;
  count: Count;
  clock: Clock;
}

export interface CodeContextRequest {
  /** Items of `context` as they stand in the manifest. */
  slices: readonly unknown[];
  budget?: number | undefined;
  worktreePath: string;
  task: string;
  plan?: readonly string[];
  changed?: readonly string[];
  args?: Readonly<Record<string, Json>>;
}

const LARGEST_FILE = 1024 * 1024;

/** What a block sees of the code of its worktree, read anew at each visit (C-100). */
export function createCodeContext(parts: CodeContextParts) {
  return async (request: CodeContextRequest): Promise<RenderedContext> => {
    const { worktreePath, budget, task, plan = [], changed = [], args = {} } = request;
    const parsed = request.slices.map((item) => parseSlice(item));
    const rendered = await renderSlices({
      slices: parsed.flatMap((each) => (isProblem(each) ? [] : [each])),
      budget,
      values: { task, plan, changed, args },
      ask: openAsk(parts, worktreePath),
      count: parts.count,
    });
    const malformed = parsed.filter(isProblem).map(({ code, message }): Degraded => ({ slice: '', code, message }));
    if (malformed.length === 0) return rendered;
    return { ...rendered, complete: false, degraded: [...rendered.degraded, ...malformed] };
  };
}

/** The questions about one worktree, for one text made of their answers. */
export function openAsk(
  { service, servers, openDir, clock }: CodeContextParts,
  worktreePath: string,
  completeMs?: number,
) {
  const dir = openDir(worktreePath);
  const readFile = (path: string) => dir.read(path, LARGEST_FILE);
  return createSliceAsk({
    ...{ service, servers, worktreePath, readFile, clock },
    ...(completeMs !== undefined && { completeMs }),
  });
}
