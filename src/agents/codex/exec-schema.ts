import { z } from 'zod';
import { isTyped } from './schema.ts';

// What Reef reads of `codex exec --json` of Codex 0.166.0, beside the items that the app server has too. Unknown keys are ignored.

const text = z.string();
const whole = z.number().int().nonnegative();

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

export const commandExecution = z.object({
  id: text,
  command: text,
  aggregated_output: text.default(''),
  exit_code: z.number().int().nullish(),
  status: text,
});
export const fileChange = z.object({
  id: text,
  changes: z.array(z.object({ path: text, kind: z.enum(['add', 'delete', 'update']) })),
  status: text,
});
