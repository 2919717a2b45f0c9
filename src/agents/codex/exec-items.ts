import { tools } from './exec-schema.ts';
import { contentText } from './items.ts';
import { isDone, type ToolReader, toolReader } from './tool-item.ts';

/** The items of `codex exec` that are tools, by type. They carry no diffs. */
export const execTools: ReadonlyMap<string, ToolReader> = new Map([
  [
    'command_execution',
    toolReader(tools.command_execution, ({ command, status, aggregated_output: output, exit_code: exitCode }) => ({
      call: { name: 'exec_command', tool: 'shell', title: command, input: { command } },
      result: { ok: isDone(status), text: output, ...(exitCode == null ? {} : { exitCode }) },
    })),
  ],
  [
    'file_change',
    toolReader(tools.file_change, ({ id, changes, status }) => ({
      call: {
        name: 'apply_patch',
        tool: 'edit',
        title: `Edit ${changes.map((change) => change.path).join(', ')}`,
        input: { changes },
      },
      result: { ok: isDone(status), text: isDone(status) ? '' : status },
      edits: isDone(status) ? changes.map(({ path, kind }) => ({ id, path, kind })) : [],
    })),
  ],
  [
    'mcp_tool_call',
    toolReader(tools.mcp_tool_call, ({ server, tool: name, arguments: input = null, result, error, status }) => ({
      call: { name: `${server}.${name}`, tool: 'mcp', title: `${server}: ${name}`, input },
      result: { ok: isDone(status), text: error?.message ?? contentText(result?.content) },
    })),
  ],
  [
    'collab_tool_call',
    toolReader(tools.collab_tool_call, ({ tool: name, prompt, status }) => ({
      call: { name, tool: 'agent', title: prompt ?? name, input: { prompt: prompt ?? null } },
      result: { ok: isDone(status), text: '' },
    })),
  ],
  [
    'web_search',
    toolReader(tools.web_search, ({ query }) => ({
      call: { name: 'web_search', tool: 'search', title: query || 'Search the web', input: { query } },
      result: { ok: true, text: query },
    })),
  ],
]);
