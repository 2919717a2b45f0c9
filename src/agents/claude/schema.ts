import { z } from 'zod';
import { formSchema } from '../elicitation.ts';

/** Ids are kept in the state, so they are bounded and need no escape; every id Claude was seen to make is far shorter. */
const id = z.string().regex(/^[!#-[\]-~]{1,128}$/);
const text = z.string();
const flag = z.boolean().optional().catch(undefined);
const told = z.string().optional().catch(undefined);
const status = z.number().int().nullish().catch(undefined);
const count = z.number().int().nonnegative().catch(0);

const block = z.looseObject({ type: text });
const parent = id.nullish();

const tokens = z.object({
  input_tokens: count,
  output_tokens: count,
  cache_read_input_tokens: count,
  cache_creation_input_tokens: count,
  output_tokens_details: z.object({ thinking_tokens: count }).nullish().catch(undefined),
});

export const assistantLine = z.object({
  uuid: id.optional(),
  parent_tool_use_id: parent,
  error: told,
  api_error_status: status,
  message: z.object({ id, model: told, content: z.array(block), usage: tokens.optional().catch(undefined) }),
});

export const textBlock = z.object({ text });
export const thinkingBlock = z.object({ thinking: text });
export const toolUseBlock = z.object({ id, name: text, input: z.unknown().optional() });

export const userLine = z.object({
  uuid: id.optional(),
  parent_tool_use_id: parent,
  isReplay: flag,
  message: z.object({ content: z.union([text, z.array(block)]) }),
  tool_use_result: z.unknown().optional(),
});

export const toolResultBlock = z.object({
  tool_use_id: id,
  is_error: z.boolean().nullish(),
  content: z.union([text, z.array(block)]).nullish(),
});

const hunk = z.object({
  oldStart: z.number(),
  oldLines: z.number(),
  newStart: z.number(),
  newLines: z.number(),
  lines: z.array(text),
});

/** What `Write` and `Edit` did. */
export const fileResult = z.object({
  type: told,
  filePath: text,
  content: told,
  structuredPatch: z.array(hunk),
});

const modelTokens = z.object({
  inputTokens: count,
  outputTokens: count,
  cacheReadInputTokens: count,
  cacheCreationInputTokens: count,
  thinkingTokens: count,
});

/** Only `is_error` decides; a figure that does not fit must not hide the end of a turn. */
export const resultLine = z.object({
  is_error: z.boolean(),
  result: told,
  errors: z.array(text).optional().catch(undefined),
  terminal_reason: z.string().nullish().catch(undefined),
  stop_reason: z.string().nullish().catch(undefined),
  api_error_status: status,
  total_cost_usd: z.number().nonnegative().optional().catch(undefined),
  usage: tokens.optional().catch(undefined),
  model_usage_since_last_result: z.record(text, modelTokens).optional().catch(undefined),
});
export type ResultLine = z.infer<typeof resultLine>;

export const initLine = z.object({
  session_id: id,
  model: told,
  claude_code_version: told,
  cwd: told,
  mcp_servers: z
    .array(z.object({ name: text }))
    .optional()
    .catch(undefined),
});

export const sessionStateLine = z.object({ state: text });

export const retryLine = z.object({
  attempt: z.number().int(),
  max_retries: z.number().int().optional().catch(undefined),
  retry_delay_ms: z.number().optional().catch(undefined),
  error_status: status,
  error: text,
});

const hidden = { ambient: flag, skip_transcript: flag };

export const tasksLine = z.object({ tasks: z.array(z.object({ task_id: id, ambient: flag, off_host: flag })) });

export const taskStartedLine = z.object({
  task_id: id,
  tool_use_id: id.optional(),
  description: told,
  is_backgrounded: flag,
  task_type: text.optional(),
  ...hidden,
});

export const taskUpdatedLine = z.object({ task_id: id, patch: z.object({ status: told }) });

export const taskEndedLine = z.object({
  task_id: id,
  tool_use_id: id.optional(),
  status: text,
  summary: told,
  ...hidden,
});

export const noticeLine = z.object({ content: told, text: told });

export const lifecycleLine = z.object({ command_uuid: id, state: text });

export const rateLimitLine = z.object({
  rate_limit_info: z.object({
    status: text,
    resetsAt: z.number().optional().catch(undefined),
  }),
});

const wireId = z.union([id, z.number()]);

export const controlRequestLine = z.object({ request_id: wireId, request: z.looseObject({ subtype: text }) });

/** What an MCP server asks a person. */
export const elicitation = z
  .object({ message: text, mode: z.enum(['form', 'url']).default('form'), url: told, requested_schema: formSchema })
  .transform(({ requested_schema: requestedSchema, ...asked }) => ({ ...asked, requestedSchema }));

export const cancelLine = z.object({ request_id: wireId });

export const controlResponseLine = z.object({
  response: z.object({ subtype: text, request_id: wireId, error: told }),
});

const hint = z.boolean().optional().catch(undefined);
/** Of each MCP server, where it was configured and what it says of its tools. */
export const mcpStatusReply = z.object({
  response: z.object({
    response: z.object({
      mcpServers: z.array(
        z.object({
          name: text,
          source: told,
          tools: z
            .array(
              z.object({
                name: text,
                annotations: z.object({ readOnly: hint, destructive: hint }).optional().catch(undefined),
              }),
            )
            .optional()
            .catch(undefined),
        }),
      ),
    }),
  }),
});

export const toolRequest = z.object({
  tool_name: text,
  input: z.record(text, z.unknown()),
  tool_use_id: id.optional(),
  agent_id: told,
  decision_reason: told,
});
export type ToolRequest = z.infer<typeof toolRequest>;

/** The input of `AskUserQuestion`. */
export const questionsInput = z.object({
  questions: z
    .array(
      z.object({
        question: text,
        header: told,
        options: z.array(z.object({ label: text, description: told })),
        multiSelect: flag,
      }),
    )
    .min(1),
});
