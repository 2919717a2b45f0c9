import { z } from 'zod';
import type { Json } from '../adapter.ts';
import { isTyped } from './schema.ts';

// What Reef reads of `codex exec --json` of Codex 0.166.0. Unknown keys are tolerated, key order is never assumed.

const text = z.string();
const whole = z.number().int().nonnegative();
const json = z.custom<Json>((value) => value !== undefined);

export const threadStarted = z.object({ thread_id: text });
export const failure = z.object({ message: text });
export const turnFailed = z.object({ error: failure });
export const turnCompleted = z.object({
  usage: z.object({
    input_tokens: whole,
    cached_input_tokens: whole,
    cache_write_input_tokens: whole.default(0),
    output_tokens: whole,
    reasoning_output_tokens: whole.default(0),
  }),
});
export const itemLine = z.object({ item: z.custom<{ type: string }>(isTyped) });

export const said = z.object({ id: text, text });
export const todoList = z.object({ items: z.array(z.object({ text, completed: z.boolean() })) });

/** Items that are tools, by type. */
export const tools = {
  command_execution: z.object({
    id: text,
    command: text,
    aggregated_output: text.default(''),
    exit_code: z.number().int().nullish(),
    status: text,
  }),
  file_change: z.object({
    id: text,
    changes: z.array(z.object({ path: text, kind: z.enum(['add', 'delete', 'update']) })),
    status: text,
  }),
  mcp_tool_call: z.object({
    id: text,
    server: text,
    tool: text,
    arguments: json.optional(),
    result: z.object({ content: z.array(json).default([]) }).nullish(),
    error: failure.nullish(),
    status: text,
  }),
  collab_tool_call: z.object({ id: text, tool: text, prompt: text.nullish(), status: text }),
  web_search: z.object({ id: text, query: text.default('') }),
};
