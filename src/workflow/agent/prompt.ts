import type { StoredSegment } from '../memory/segment.ts';
import { viewSegment } from '../memory/segment.ts';
import type { WorkerInput } from '../workers/worker.ts';

/** How much a prompt may hold, in the unit of `measure`. */
export interface PromptBudget {
  limit: number;
  measure(text: string): number;
  /** The bones of a file: what is shown of it when the whole does not fit. */
  outline(path: string, content: string): string;
  /** Keeps what is left out, and names it for `artifact_read`. */
  keep?(runId: string, text: string): string;
}

interface Part {
  text: string;
  /** What stands here when room is short. */
  short: string;
}

const POINTER_CHARACTERS = 80;

/**
 * The five layers as one text, the most important first. Over budget files shrink to outlines, then the oldest segments
 * to pointers, then inherited context; the contract and the place never do (W-10).
 */
export function renderPrompt(
  input: WorkerInput,
  { stored, budget }: { stored: ReadonlyMap<string, StoredSegment>; budget: PromptBudget },
): string {
  const files = input.primary_artifacts.map(({ path, content }) => {
    const title = `### ${path}\n\n`;
    return { text: `${title}${content}`, short: `${title}(outline)\n${budget.outline(path, content)}` };
  });
  const { run_id } = input.system_metadata;
  const keep = (text: string) => budget.keep?.(run_id, text);
  const segments = input.execution_payload.map((segment) =>
    segmentPart(segment, { stored: stored.get(segment.id), keep }),
  );
  const inherited = Object.entries(input.inherited_context).map(([key, value]) => {
    const text = `### INHERITED_CONTEXT ${key}\n\n${typeof value === 'string' ? value : JSON.stringify(value)}`;
    return { text, short: `### INHERITED_CONTEXT ${key}\n\n(left out: ${text.length} characters)` };
  });
  const render = (shown: Shown) => assemble(input, shown);
  const full: Shown = { segments: segments.map(whole), inherited: inherited.map(whole), files: files.map(whole) };
  return shrink(render, full, { parts: { files, segments, inherited }, budget });
}

interface Shown {
  segments: string[];
  inherited: string[];
  files: string[];
}

const whole = ({ text }: Part) => text;

function shrink(
  render: (shown: Shown) => string,
  full: Shown,
  { parts, budget }: { parts: Record<keyof Shown, Part[]>; budget: PromptBudget },
): string {
  let text = render(full);
  const shown = { ...full, segments: [...full.segments], inherited: [...full.inherited], files: [...full.files] };
  for (const layer of ['files', 'segments', 'inherited'] as const) {
    for (const [index, { short }] of parts[layer].entries()) {
      if (budget.measure(text) <= budget.limit) return text;
      if (short.length >= (shown[layer][index] ?? '').length) continue;
      shown[layer][index] = short;
      text = render(shown);
    }
  }
  return text;
}

interface SegmentHands {
  stored: StoredSegment | undefined;
  keep(text: string): string | undefined;
}

function segmentPart(segment: WorkerInput['execution_payload'][number], { stored, keep }: SegmentHands): Part {
  const { type, block, visit, outcome, filePath } = segment;
  const about = [`### ${type}`, `${block}#${visit}`, outcome, filePath]
    .filter((word) => word !== undefined)
    .join(' · ');
  const view = stored && viewSegment(stored);
  const whole = plain(segment.content);
  const content = view?.address === undefined ? whole : cutText(view);
  const beginning = content.slice(0, POINTER_CHARACTERS).replaceAll('\n', ' ');
  return {
    text: `${about}\n\n${content}`,
    get short() {
      const id = keep(whole);
      const where = id === undefined ? '' : `: artifact_read "${id}"`;
      return `${about}\n\n(${Buffer.byteLength(content)} bytes, left out${where}: ${beginning}…)`;
    },
  };
}

function cutText({
  head,
  tail = '',
  bytes,
  address,
}: {
  head: string;
  tail?: string | undefined;
  bytes: number;
  address?: string | undefined;
}): string {
  return `${head}\n…[${bytes} bytes in all, at ${address}]…\n${tail}`;
}

function plain(content: WorkerInput['execution_payload'][number]['content']): string {
  return typeof content === 'string' ? content : JSON.stringify(content, null, 2);
}

function assemble({ block_contract, system_metadata }: WorkerInput, shown: Shown): string {
  const { task, instructions, persona, signals, args, returned } = block_contract;
  const bound = Object.keys(args).length + Object.keys(returned).length > 0;
  const { block_id, run_id, visit, branch, worktree_path } = system_metadata;
  return [
    section('Task', task),
    ...(persona === undefined ? [] : [section('Who you are', persona)]),
    ...(instructions === undefined ? [] : [section('What to do in this block', instructions)]),
    ...(bound ? [section('Arguments', JSON.stringify({ args, returned }, null, 2))] : []),
    ...list('What happened so far', shown.segments),
    ...list('Rules that hold here', shown.inherited),
    ...list('Files', shown.files),
    section('Where you are', `${block_id}, visit ${visit}, branch ${branch} of run ${run_id}, in ${worktree_path}`),
    section('How to answer', howToAnswer(signals)),
  ].join('\n\n');
}

function section(title: string, text: string): string {
  return `## ${title}\n\n${text}`;
}

function list(title: string, parts: string[]): string[] {
  return parts.length === 0 ? [] : [section(title, parts.join('\n\n'))];
}

function howToAnswer(signals: string[]): string {
  const example = { signal: signals[0] ?? 'SIGNAL:FAILURE', summary: 'what was done', newFiles: ['path/of/a/file.ts'] };
  return `End with one of ${signals.join(', ')}. Call the tool block_result if you have it; else end your message with

\`\`\`reef-result
${JSON.stringify(example)}
\`\`\`

\`segments\` ([{type, content, filePath}]) and \`newFiles\` may be left out. Code decides what happens next; whether the tests pass is
found out by running them.`;
}
