import { z } from 'zod';
import type { Json } from '../adapter.ts';

/**
 * The parts of ACP v1 messages that Reef reads. Everything else is tolerated and dropped: agents add fields at will, and
 * `null` and absent mean the same throughout the protocol.
 */
const json = z.custom<Json>().optional();
const text = z.string().nullish();

const rpcErrorSchema = z.object({ code: z.number(), message: z.string().catch(''), data: json });
export type RpcError = z.infer<typeof rpcErrorSchema>;

/** A request has method and id, a notification only a method, a response only an id. */
export const envelopeSchema = z.object({
  id: z.union([z.string(), z.number()]).nullish(),
  method: z.string().optional(),
  params: json,
  result: json,
  error: rpcErrorSchema.nullish(),
});
export type WireId = string | number;
export type RpcResponse = { result?: Json; error?: RpcError };

export const initializeResultSchema = z.object({
  protocolVersion: z.number(),
  agentCapabilities: z.object({ loadSession: z.boolean().nullish() }).nullish(),
  agentInfo: z.object({ name: z.string(), version: text }).nullish(),
});

export const sessionResultSchema = z
  .object({
    sessionId: text,
    /** How gemini offers its models: it is older than the options. */
    models: z.object({ currentModelId: text }).nullish(),
    configOptions: z.array(z.object({ id: z.string(), category: text, currentValue: json })).nullish(),
  })
  .nullish();

const contentSchema = z.object({ type: z.string(), text });

const toolCallSchema = z.object({
  toolCallId: z.string(),
  /** Beyond the protocol: claude-agent-acp names its tools. */
  name: text,
  title: text,
  kind: text,
  status: text,
  content: z
    .array(z.object({ type: z.string(), content: contentSchema.nullish(), path: text, oldText: text, newText: text }))
    .nullish(),
  locations: z.array(z.object({ path: z.string() })).nullish(),
  rawInput: json,
  rawOutput: json,
});
export type ToolNews = z.infer<typeof toolCallSchema>;

/** Only looked into here: what an update holds is read by its own schema. */
const isUpdate = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'sessionUpdate' in value && typeof value.sessionUpdate === 'string';

export const updateSchema = z.object({ update: z.custom<{ sessionUpdate: string }>(isUpdate) });

export const updateSchemas = {
  chunk: z.object({ content: contentSchema, messageId: text }),
  tool: toolCallSchema,
  plan: z.object({ entries: z.array(z.object({ content: z.string(), status: text })) }),
  usage: z.object({ cost: z.object({ amount: z.number().nonnegative(), currency: z.string() }).nullish() }),
  compaction: z.object({ status: z.string(), error: text }),
  notice: z.object({ title: z.string(), description: text }),
};

const tokens = z.number().int().nonnegative().nullish();

export const promptResultSchema = z.object({
  stopReason: z.string(),
  usage: z
    .object({
      inputTokens: tokens,
      outputTokens: tokens,
      cachedReadTokens: tokens,
      cachedWriteTokens: tokens,
      thoughtTokens: tokens,
    })
    .nullish(),
  _meta: z
    .object({ quota: z.object({ token_count: z.object({ input_tokens: tokens, output_tokens: tokens }) }).nullish() })
    .nullish(),
});
export type PromptResult = z.infer<typeof promptResultSchema>;

export const permissionSchema = z.object({
  toolCall: toolCallSchema,
  options: z.array(z.object({ optionId: z.string(), kind: z.string() })),
});

export const cancelRequestSchema = z.object({ requestId: z.union([z.string(), z.number()]) });

const line = (message: Json) => JSON.stringify({ jsonrpc: '2.0', ...(message as object) });

export const rpc = {
  request: (id: number, method: string, params: Json) => line({ id, method, params }),
  notification: (method: string, params: Json) => line({ method, params }),
  reply: (id: WireId, result: Json) => line({ id, result }),
  refusal: (id: WireId, code: number, message: string) => line({ id, error: { code, message } }),
};
