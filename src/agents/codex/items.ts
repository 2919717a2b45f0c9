import type { Json } from '../adapter.ts';
import { fileEdits } from './file-changes.ts';
import { items } from './schema.ts';
import { isDone, type ToolReader, toolReader } from './tool-item.ts';

/** The items that are tools, by type. */
export const toolItems: ReadonlyMap<string, ToolReader> = new Map([
  [
    'commandExecution',
    toolReader(items.commandExecution, ({ command, cwd, status, aggregatedOutput, exitCode }) => ({
      call: {
        name: 'exec_command',
        tool: 'shell',
        title: command,
        input: { command, ...(cwd == null ? {} : { cwd }) },
      },
      result: {
        ok: isDone(status),
        text: aggregatedOutput ?? (status === 'declined' ? status : ''),
        ...(exitCode == null ? {} : { exitCode }),
      },
    })),
  ],
  [
    'fileChange',
    toolReader(items.fileChange, ({ id, changes, status }) => ({
      call: {
        name: 'apply_patch',
        tool: 'edit',
        title: `Edit ${changes.map((change) => change.path).join(', ')}`,
        input: { changes: changes.map(({ path, kind }) => ({ path, kind: kind.type })) },
      },
      result: { ok: isDone(status), text: isDone(status) ? '' : status },
      edits: isDone(status) ? fileEdits(id, changes) : [],
    })),
  ],
  [
    'mcpToolCall',
    toolReader(items.mcpToolCall, ({ server, tool: name, arguments: input = null, status, result, error }) => ({
      call: { name: `${server}.${name}`, tool: 'mcp', title: `${server}: ${name}`, input },
      result: { ok: isDone(status), text: error?.message ?? contentText(result?.content) },
    })),
  ],
  [
    'dynamicToolCall',
    toolReader(items.dynamicToolCall, ({ tool: name, arguments: input = null, status }) => ({
      call: { name, tool: 'other', title: name, input },
      result: { ok: isDone(status), text: '' },
    })),
  ],
  [
    'collabAgentToolCall',
    toolReader(items.collabAgentToolCall, ({ tool: name, prompt, receiverThreadIds, status }) => ({
      call: { name, tool: 'agent', title: prompt ?? name, input: { prompt: prompt ?? null } },
      result: { ok: isDone(status), text: receiverThreadIds.join(', ') },
    })),
  ],
  [
    'webSearch',
    toolReader(items.webSearch, ({ query }) => ({
      call: { name: 'web_search', tool: 'search', title: query || 'Search the web', input: { query } },
      result: { ok: true, text: query },
    })),
  ],
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

/** The text of MCP content; of a block that has none its type is enough. */
export function contentText(content: Json[] = []): string {
  const texts = content.map((block) => {
    if (typeof block !== 'object' || block === null || Array.isArray(block)) return String(block);
    return typeof block.text === 'string' ? block.text : `[${String(block.type ?? 'content')}]`;
  });
  return texts.join('\n');
}
