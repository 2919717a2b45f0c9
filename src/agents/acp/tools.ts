import { capText } from '../../base/cap.ts';
import type { Effect, Json } from '../adapter.ts';
import { unifiedDiff } from '../unified-diff.ts';
import type { ToolNews } from './messages.ts';
import type { AcpState, Draft, FileChange, OpenTool } from './state.ts';
import { endMessage, noteAnswer } from './state.ts';

const MAX_TOOLS_BYTES = 24 * 1024;
const MAX_DIFF_BYTES = 16 * 1024;
const MAX_TITLE_BYTES = 1024;
const MAX_ENDED = 32;
/** Arguments larger than this are shown at once rather than held. */
const MAX_HELD_BYTES = 2048;

const TOOLS = new Map<string, OpenTool['tool']>([
  ['execute', 'shell'],
  ['read', 'read'],
  ['edit', 'edit'],
  ['delete', 'edit'],
  ['move', 'edit'],
  ['search', 'search'],
  ['fetch', 'fetch'],
]);

interface Source {
  /** A line whose long strings were cut tells no diff. */
  isSkeleton: boolean;
  /** The first word of a tool, `pending`: its arguments are still being composed. */
  isAnnouncement: boolean;
}

/** Takes news of a tool, in whatever order an agent sends them. Returns what is known of it. */
export function noteTool(d: Draft, news: ToolNews, source: Source): OpenTool {
  const id = news.toolCallId;
  const before = Object.hasOwn(d.state.tools, id) ? d.state.tools[id] : undefined;
  const tool = merge(before, news, source);
  if (d.state.ended.includes(id)) return tool;
  if (!before) noteAnswer(d);
  const isHeld = source.isAnnouncement && news.status === 'pending' && jsonBytes(tool.input) <= MAX_HELD_BYTES;
  if (!tool.isShown && !isHeld) {
    endMessage(d);
    d.out.push(toolCall(id, tool));
    tool.isShown = true;
  }
  if (news.status === 'completed' || news.status === 'failed') endTool(d, news, tool);
  else d.state.tools = remember(d.state.tools, id, tool);
  return tool;
}

function merge(before: OpenTool | undefined, news: ToolNews, source: Source): OpenTool {
  const name = news.name ?? before?.name ?? news.kind ?? 'other';
  const title = news.title ?? before?.title ?? name;
  const changes = fileChanges(news, source.isSkeleton);
  return {
    name,
    tool: (news.kind ? TOOLS.get(news.kind) : before?.tool) ?? 'other',
    title,
    input: inputOf(news) ?? before?.input ?? {},
    isShown: before?.isShown ?? false,
    changes: changes.length > 0 ? changes : (before?.changes ?? []),
  };
}

/** What was run or is to be approved, whole. gemini tells no arguments: there the title is the command. */
function inputOf(news: ToolNews): Json | undefined {
  const { rawInput, title } = news;
  if (rawInput !== undefined && rawInput !== null) {
    const isEmpty = typeof rawInput === 'object' && Object.keys(rawInput).length === 0;
    return isEmpty ? undefined : rawInput;
  }
  if (title === undefined || title === null) return undefined;
  const paths = (news.locations ?? []).map((location) => location.path);
  const detail = textOf(news);
  const edits = (news.content ?? []).flatMap(({ type, path, oldText, newText }) =>
    type === 'diff' ? [{ path: path ?? '', oldText: oldText ?? null, newText: newText ?? null }] : [],
  );
  return {
    title,
    ...(paths.length > 0 ? { paths } : {}),
    ...(detail === '' ? {} : { detail }),
    ...(edits.length > 0 ? { edits } : {}),
  };
}

/** Line numbers are those of the text the agent shows, which may be a part of the file. Truth is git's. */
function fileChanges(news: ToolNews, isSkeleton: boolean): FileChange[] {
  return (news.content ?? []).flatMap(({ type, path, oldText, newText }) => {
    if (type !== 'diff' || typeof path !== 'string') return [];
    const [before, after] = [oldText ?? '', newText ?? ''];
    const kind = news.kind === 'delete' ? 'delete' : before === '' ? 'add' : 'update';
    return [{ path, kind, diff: isSkeleton ? null : capText(unifiedDiff(before, after), MAX_DIFF_BYTES) }];
  });
}

function endTool(d: Draft, news: ToolNews, tool: OpenTool): void {
  const id = news.toolCallId;
  const ok = news.status === 'completed';
  if (ok) d.out.push(...tool.changes.map((change) => fileEdit(id, change)));
  const exitCode = exitCodeOf(news.rawOutput);
  const text = resultText(news);
  const payload = { kind: 'tool_result', id, ok, ...(exitCode === undefined ? {} : { exitCode }), text } as const;
  d.out.push({ do: 'emit', event: { type: 'progress', payload } });
  forgetTools(d, [id]);
  d.state.isAnswering = false;
}

/** Late news of them are no new call. */
export function forgetTools(d: Draft, ids: string[]): void {
  const isKept = ([id]: [string, OpenTool]) => !ids.includes(id);
  d.state.tools = Object.fromEntries(Object.entries(d.state.tools).filter(isKept));
  d.state.ended = [...d.state.ended, ...ids].slice(-MAX_ENDED);
}

function toolCall(id: string, { name, tool, title, input }: OpenTool): Effect {
  return { do: 'emit', event: { type: 'tool_call', payload: { id, name, tool, title, input } } };
}

function fileEdit(id: string, { path, kind, diff }: FileChange): Effect {
  const payload = { id, path, kind, ...(diff === null ? {} : { diff }) };
  return { do: 'emit', event: { type: 'file_edit', payload } };
}

/** The agent's own words where it has some; what it shows to people is often fenced or cut. */
function resultText(news: ToolNews): string {
  if (typeof news.rawOutput === 'string') return news.rawOutput;
  const names = ['formatted_output', 'aggregated_output', 'output', 'stdout', 'error'];
  const told = names.map((name) => member(news.rawOutput, name)).find((value) => typeof value === 'string' && value);
  return textOf(news) || (typeof told === 'string' ? told : '');
}

function textOf(news: ToolNews): string {
  return (news.content ?? []).flatMap(({ content }) => content?.text ?? []).join('\n');
}

/** `exit_code` of codex-acp, `metadata.exit` of opencode; the others tell none. */
function exitCodeOf(rawOutput: Json | undefined): number | undefined {
  const code = member(rawOutput, 'exit_code') ?? member(member(rawOutput, 'metadata'), 'exit');
  return Number.isSafeInteger(code) ? (code as number) : undefined;
}

function member(value: Json | undefined, name: string): Json | undefined {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject && Object.hasOwn(value, name) ? value[name] : undefined;
}

const jsonBytes = (value: Json) => Buffer.byteLength(JSON.stringify(value));

/**
 * Keeps the state small. What does not fit of a tool is its arguments, which the agent mostly repeats, then its diffs;
 * where even that is too much, the tools that were silent longest are forgotten.
 */
function remember(tools: AcpState['tools'], id: string, tool: OpenTool): AcpState['tools'] {
  const others = Object.fromEntries(Object.entries(tools).filter(([key]) => key !== id));
  const room = MAX_TOOLS_BYTES - jsonBytes(others);
  const title = capText(tool.title, MAX_TITLE_BYTES);
  const lean = { ...tool, title, input: {} };
  const withoutDiffs = { ...lean, changes: tool.changes.map((change) => ({ ...change, diff: null })) };
  const forms = [{ ...tool, title }, lean, withoutDiffs];
  const kept = forms.find((form) => jsonBytes(form) <= room) ?? { ...lean, changes: [] };
  let all = { ...others, [id]: kept };
  while (jsonBytes(all) > MAX_TOOLS_BYTES && Object.keys(all).length > 1) {
    all = Object.fromEntries(Object.entries(all).slice(1));
  }
  return all;
}
