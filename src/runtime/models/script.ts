import { z } from 'zod';
import { parseBy } from '../config/settings-file.ts';

const milliseconds = z.number().int().min(0).max(600_000);
const pattern = z.string().refine(isPattern, 'a regular expression');

const replySchema = z.strictObject({
  text: z.string().default(''),
  reasoning: z.string().default(''),
  tool_calls: z
    .array(
      z.strictObject({
        name: z.string().min(1),
        arguments: z.unknown().default({}),
        id: z.string().min(1).exactOptional(),
      }),
    )
    .default([]),
  usage: z
    .strictObject({
      input: z.number().int().min(0),
      output: z.number().int().min(0),
      cached: z.number().int().min(0).default(0),
      reasoning: z.number().int().min(0).default(0),
    })
    .exactOptional(),
  finish: z.enum(['stop', 'length', 'content_filter']).exactOptional(),
  /** Characters per piece. */
  chunk: z.number().int().min(1).default(12),
  delay_ms: milliseconds.default(0),
  chunk_delay_ms: milliseconds.default(0),
  /** Breaks the stream after this many characters. */
  break_after: z.number().int().min(0).exactOptional(),
});

const entrySchema = z
  .strictObject({
    when: z
      .strictObject({
        agent: z.string().exactOptional(),
        last_user: pattern.exactOptional(),
        /** Matches any user message, not only the last. */
        any_user: pattern.exactOptional(),
        last_tool: z.string().exactOptional(),
        last_result: pattern.exactOptional(),
      })
      .default({}),
    reply: replySchema.exactOptional(),
    error: z
      .strictObject({
        status: z.number().int().min(400).max(599),
        retry_after: z.number().min(0).exactOptional(),
        message: z.string().default('scripted failure'),
      })
      .exactOptional(),
    /** How many requests it answers. */
    times: z.union([z.number().int().min(1), z.literal('always')]).default(1),
  })
  .refine((entry) => (entry.reply === undefined) !== (entry.error === undefined), 'either reply or error');

const scriptSchema = z.array(entrySchema);

export type ScriptEntry = z.output<typeof entrySchema>;
export type ScriptReply = z.output<typeof replySchema>;

export const parseScript = (text: string, file: string): ScriptEntry[] =>
  parseBy({ file, text }, scriptSchema, { code: 'script_invalid' });

function isPattern(text: string): boolean {
  try {
    return new RegExp(text, 's') instanceof RegExp;
  } catch {
    return false;
  }
}
