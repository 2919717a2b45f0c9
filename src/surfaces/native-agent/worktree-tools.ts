import { z } from 'zod';
import { codeQueries } from '../../protocol/code-operations.ts';
import { operations } from '../../protocol/operations.ts';
import { defineTool } from '../../runtime/tools/define-tool.ts';
import type { Tool } from '../../runtime/tools/tool.ts';
import { textOf } from '../mcp/text.ts';
import type { Call } from './patient-call.ts';

const REST = 'a narrower question, or a smaller limit';

/** An agent's questions about its own worktree: its code, its state, and what was cut from its prompt. Other agents have them by MCP. */
export function worktreeTools(call: Call): Tool[] {
  return ([...codeQueries, 'repo_state', 'artifact_read'] as const).map((name) => {
    const { summary, input } = operations[name];
    const { worktree: _, job: __, ...shape }: z.ZodRawShape = input.shape;
    return defineTool({
      name,
      description: summary,
      effect: 'read',
      arguments: z.strictObject(shape),
      run: async (args, { signal }) =>
        textOf(name, await call(name, args as never, signal), { now: new Date(), rest: REST }),
    });
  });
}
