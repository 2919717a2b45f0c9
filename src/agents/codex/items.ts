import type { z } from 'zod';
import { capJson, capText } from '../../base/cap.ts';
import { defined } from '../../base/defined.ts';
import { fingerprint } from '../../base/fingerprint.ts';
import type { EventOf } from '../../protocol/events.ts';
import type { Effect, Json } from '../adapter.ts';
import { emit, progress } from '../adapter-effects.ts';
import { unifiedDiff } from '../unified-diff.ts';
import { type FileUpdate, items } from './schema.ts';
import type { ChangedFile, FileChanges } from './state.ts';

interface Command {
  command: string;
  cwd?: string | null | undefined;
  status: string;
  output: string | null | undefined;
  exitCode?: number | null | undefined;
}

export const commandTool = ({ command, cwd, status, output, exitCode }: Command): ReadTool => ({
  call: {
    name: 'exec_command',
    tool: 'shell',
    title: command,
    input: { command, ...defined({ cwd }) },
  },
  result: {
    ok: isDone(status),
    text: output ?? (status === 'declined' ? status : ''),
    ...defined({ exitCode }),
  },
});

/** `changes` are what the call shows, `edits` what it has done once it is over. */
export const changeTool = (status: string, changes: { path: string; kind: string }[], edits: FileEdit[]): ReadTool => ({
  call: {
    name: 'apply_patch',
    tool: 'edit',
    title: `Edit ${changes.map((change) => change.path).join(', ')}`,
    input: { changes },
  },
  result: { ok: isDone(status), text: isDone(status) ? '' : status },
  edits: isDone(status) ? edits : [],
});

export const mcpTool = toolReader(items.mcpToolCall, (item) => {
  const { server, tool: name, arguments: input = null, status, result, error } = item;
  return {
    call: { name: `${server}.${name}`, tool: 'mcp', title: `${server}: ${name}`, input },
    result: { ok: isDone(status), text: error?.message ?? contentText(result?.content) },
  };
});

export const agentTool = toolReader(items.collabAgentToolCall, ({ tool: name, prompt, receiverThreadIds, status }) => ({
  call: { name, tool: 'agent', title: prompt ?? name, input: { prompt: prompt ?? null } },
  result: { ok: isDone(status), text: receiverThreadIds.join(', ') },
}));

export const searchTool = toolReader(items.webSearch, ({ query }) => ({
  call: { name: 'web_search', tool: 'search', title: query || 'Search the web', input: { query } },
  result: { ok: true, text: query },
}));

/** The items that are tools, by type. */
export const toolItems: ReadonlyMap<string, ToolReader> = new Map([
  [
    'commandExecution',
    toolReader(items.commandExecution, ({ aggregatedOutput: output, ...item }) => commandTool({ ...item, output })),
  ],
  [
    'fileChange',
    toolReader(items.fileChange, ({ id, changes, status }) => {
      const shown = changes.map(({ path, kind }) => ({ path, kind: kind.type }));
      return changeTool(status, shown, fileEdits(id, changes));
    }),
  ],
  ['mcpToolCall', mcpTool],
  [
    'dynamicToolCall',
    toolReader(items.dynamicToolCall, ({ tool: name, arguments: input = null, status }) => ({
      call: { name, tool: 'other', title: name, input },
      result: { ok: isDone(status), text: '' },
    })),
  ],
  ['collabAgentToolCall', agentTool],
  ['webSearch', searchTool],
  [
    'imageView',
    toolReader(items.imageView, ({ path }) => ({
      call: { name: 'view_image', tool: 'read', title: path, input: { path } },
      result: { ok: true, text: '' },
    })),
  ],
  [
    'imageGeneration',
    toolReader(items.imageGeneration, ({ status, savedPath }) => ({
      call: { name: 'image_generation', tool: 'other', title: 'Generate an image', input: {} },
      result: { ok: status !== 'failed', text: savedPath ?? '' },
    })),
  ],
]);

/** The text of MCP content. A block without text is shown by its type. */
export function contentText(content: Json[] = []): string {
  const texts = content.map((block) => {
    if (typeof block !== 'object' || block === null || Array.isArray(block)) return String(block);
    return typeof block.text === 'string' ? block.text : `[${String(block.type ?? 'content')}]`;
  });
  return texts.join('\n');
}

/** An item of Codex that is a tool of the agent. `result` counts once the item is over. */
export interface ToolItem {
  id: string;
  call: Pick<EventOf<'tool_call'>['payload'], 'name' | 'tool' | 'title' | 'input'>;
  result: { ok: boolean; text: string; exitCode?: number };
  edits?: FileEdit[];
}
type ReadTool = Omit<ToolItem, 'id'>;
type FileEdit = EventOf<'file_edit'>['payload'];

export function callEffect({ id, call }: ToolItem, parent?: string): Effect {
  return emit({ type: 'tool_call', payload: { id, ...call, ...defined({ parent }) } });
}

export function resultEffects({ id, result, edits = [] }: ToolItem, parent?: string): Effect[] {
  const inside = defined({ parent });
  const told = edits.map((edit) => emit({ type: 'file_edit', payload: { ...edit, ...inside } }));
  return [...told, progress({ kind: 'tool_result', id, ...result, ...inside })];
}

/** In both protocols anything but `completed` is a failure once the item is over. */
const isDone = (status: string): boolean => status === 'completed';

/** Undefined for an item that does not fit its schema. */
export type ToolReader = (raw: unknown) => ToolItem | undefined;

export function toolReader<S extends z.ZodType<{ id: string }>>(
  schema: S,
  read: (item: z.infer<S>) => ReadTool,
): ToolReader {
  return (raw) => {
    const { data } = schema.safeParse(raw);
    return data && { id: data.id, ...read(data) };
  };
}

const DIFF_CAP = 16 * 1024;

/** The path a change leaves behind, and the one it came from. */
function place({ path, kind }: FileUpdate): ChangedFile {
  return kind.move_path == null ? { path, kind: kind.type } : { path: kind.move_path, kind: 'rename', from: path };
}

function fileEdits(id: string, changes: FileUpdate[]): FileEdit[] {
  return changes.map((change) => ({ id, ...place(change), diff: capText(unified(change), DIFF_CAP) }));
}

/** Of a change that waits for approval the whole is wanted, and the state is written with every round. */
const APPROVABLE_CAP = 128 * 1024;

/** What a person must see to approve a change. `digest` covers what is cut, which nobody can approve. */
export function approvable(changes: FileUpdate[]): FileChanges {
  const places = changes.map(place);
  const diffs = changes.map((change) => `--- ${change.path}\n+++ ${place(change).path}\n${unified(change)}`);
  const seen = { changes: places, diff: diffs.join('') };
  const shown = capJson(seen, APPROVABLE_CAP) as typeof seen;
  return { ...shown, digest: fingerprint(changes), ...(shown !== seen && { isCut: true }) };
}

/** Codex gives hunks for an update, the bare content for a new or deleted file, and notes a move below the hunks. */
function unified({ kind, diff }: FileUpdate): string {
  if (kind.type === 'update') return diff.replace(/\n\nMoved to: .*$/s, '');
  return kind.type === 'add' ? unifiedDiff('', diff) : unifiedDiff(diff, '');
}
