import type { Clock } from '../../base/clock.ts';
import type { SafeDir } from '../../base/safe-dir.ts';
import { toReefError } from '../../protocol/errors.ts';
import type { Json } from '../../protocol/workflow.ts';
import type { ContextPartitionerService } from '../partitioner/context-partitioner.ts';
import { type Count, fitLevels, outlineLevels } from './levels.ts';
import { isProblem, parseSlice } from './parse-slice.ts';
import { type Degraded, headingOf, type RenderedContext, renderSlices } from './render-slices.ts';
import { createSliceAsk } from './slice-ask.ts';

export interface SliceDeps {
  service: ContextPartitionerService;
  servers: { ensureServer(worktreePath: string): Promise<unknown> };
  openDir(root: string): Pick<SafeDir, 'read'>;
  count: Count;
  clock: Clock;
}

export interface CodeContextRequest {
  slices: readonly unknown[];
  budget?: number | undefined;
  worktreePath: string;
  task: string;
  plan?: readonly string[];
  changed?: readonly string[];
  args?: Readonly<Record<string, Json>>;
}

const LARGEST_FILE = 1024 * 1024;

/** Makes what a block sees of the code of its worktree. Every call reads the code anew. */
export function createCodeContext(deps: SliceDeps) {
  return async (request: CodeContextRequest): Promise<RenderedContext> => {
    const { worktreePath, budget, task, plan = [], changed = [], args = {} } = request;
    const parsed = request.slices.map((item) => parseSlice(item));
    const rendered = await renderSlices({
      slices: parsed.flatMap((each) => (isProblem(each) ? [] : [each])),
      budget,
      values: { task, plan, changed, args },
      ask: openAsk(deps, worktreePath),
      count: deps.count,
    });
    const malformed = parsed.filter(isProblem).map(({ code, message }): Degraded => ({ slice: '', code, message }));
    if (malformed.length === 0) return rendered;
    return { ...rendered, complete: false, degraded: [...rendered.degraded, ...malformed] };
  };
}

function openAsk({ service, servers, openDir, clock }: SliceDeps, worktreePath: string, completeMs?: number) {
  const dir = openDir(worktreePath);
  const readFile = (path: string) => dir.read(path, LARGEST_FILE);
  return createSliceAsk({ service, servers, worktreePath, readFile, clock, completeMs });
}

export interface OutlinedFile {
  worktreePath: string;
  path: string;
  content: string;
}

/** The limit of one file among many in a prompt. */
const MOST_TOKENS = 600;
const WAIT_MS = 5_000;
const FIRST_LINES = 20;
const LINE_CHARACTERS = 120;

/** Makes the text that replaces a file that does not fit into a prompt: its outline or, failing that, its first lines. */
export function createFileOutline(deps: SliceDeps) {
  return async ({ worktreePath, path, content }: OutlinedFile): Promise<string> => {
    try {
      const outline = await openAsk(deps, worktreePath, WAIT_MS).outline(path);
      const { levels, basis } = outlineLevels(outline);
      if (levels[0]?.lines.length === 0) return firstLines(content, 'it defines nothing');
      const heading = (shrunkTo: Parameters<typeof headingOf>[2]) => headingOf(`outline:${path}`, basis, shrunkTo);
      const text = fitLevels({ heading, levels, room: MOST_TOKENS, count: deps.count });
      return text ?? firstLines(content, 'it is too long');
    } catch (error) {
      return firstLines(content, toReefError(error).code);
    }
  };
}

function firstLines(content: string, why: string): string {
  const lines = content.split('\n', FIRST_LINES).map((line) => line.slice(0, LINE_CHARACTERS));
  return [`(no outline: ${why}; its first lines)`, ...lines].join('\n');
}
