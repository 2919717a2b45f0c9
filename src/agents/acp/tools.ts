import { capText } from '../../base/cap.ts';
import { defined } from '../../base/defined.ts';
import type { Json } from '../adapter.ts';
import { emit, progress } from '../adapter-effects.ts';
import { unifiedDiff } from '../unified-diff.ts';
import type { ToolNews } from './messages.ts';
import { type AcpState, type Draft, endMessage, type FileChange, noteAnswer, type OpenTool } from './state.ts';

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
  /** The long strings of the line were cut, so it has no diff. */
  isSkeleton: boolean;
  /** The first line about a tool. If it is `pending`, the agent is still composing the arguments. */
  isAnnouncement: boolean;
}

/** Takes news of a tool, in whatever order an agent sends them, and returns what is known of it. */
export function noteTool(d: Draft, news: ToolNews, source: Source): OpenTool {
  const id = news.toolCallId;
  const before = Object.hasOwn(d.state.tools, id) ? d.state.tools[id] : undefined;
  const tool = merge(before, news, source);
  if (d.state.ended.includes(id)) return tool;
  if (!before) noteAnswer(d);
  const isHeld = source.isAnnouncement && news.status === 'pending' && jsonBytes(tool.input) <= MAX_HELD_BYTES;
  if (!tool.isShown && !isHeld) {
    endMessage(d);
    const { name, tool: kind, title, input } = tool;
    d.out.push(emit({ type: 'tool_call', payload: { id, name, tool: kind, title, input } }));
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

/** What was run or is to be approved, whole. gemini sends no arguments: there the title is the command. */
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

/** Line numbers count from the text the agent shows, which may be a part of the file. Git has the true ones. */
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
  for (const { path, kind, diff } of ok ? tool.changes : []) {
    d.out.push(emit({ type: 'file_edit', payload: { id, path, kind, ...defined({ diff }) } }));
  }
  const exitCode = exitCodeOf(news.rawOutput);
  d.out.push(progress({ kind: 'tool_result', id, ok, ...defined({ exitCode }), text: resultText(news) }));
  forgetTools(d, [id]);
  d.state.isAnswering = false;
}

/** Remembers their ids, so that late news do not begin a new call. */
export function forgetTools(d: Draft, ids: string[]): void {
  const isKept = ([id]: [string, OpenTool]) => !ids.includes(id);
  d.state.tools = Object.fromEntries(Object.entries(d.state.tools).filter(isKept));
  d.state.ended = [...d.state.ended, ...ids].slice(-MAX_ENDED);
}

/** The raw output where it is text: what the agent shows to people is often fenced or cut. */
function resultText(news: ToolNews): string {
  if (typeof news.rawOutput === 'string') return news.rawOutput;
  const names = ['formatted_output', 'aggregated_output', 'output', 'stdout', 'error'];
  const told = names.map((name) => member(news.rawOutput, name)).find((value) => typeof value === 'string' && value);
  return textOf(news) || (typeof told === 'string' ? told : '');
}

function textOf(news: ToolNews): string {
  return (news.content ?? []).flatMap(({ content }) => content?.text ?? []).join('\n');
}

/** codex-acp has `exit_code`, opencode `metadata.exit`; the others give none. */
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
 * Keeps the state small. It drops first a tool's arguments, which the agent mostly repeats, then its diffs, and at last
 * the tools that were silent longest.
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
