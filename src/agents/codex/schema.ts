import { z } from 'zod';
import { defined } from '../../base/defined.ts';
import type { Json } from '../adapter.ts';

// What Reef reads of the app-server protocol of Codex 0.166.0. Unknown keys are ignored.

const text = z.string();
const optional = text.nullish();
const count = z.number();
const whole = count.int().nonnegative();
const json = z.custom<Json>((value) => value !== undefined);
const inThread = { threadId: text, turnId: optional };

const rpcError = z.object({ code: z.number(), message: text });
export type WireId = number | string;

export interface Envelope {
  id?: WireId;
  method?: string;
  params?: Json | undefined;
  result?: Json | undefined;
  error?: z.infer<typeof rpcError>;
}

/** The frame of a message, read by hand because every line has one. Undefined for what is no message. */
export function readEnvelope(json: unknown): Envelope | undefined {
  if (typeof json !== 'object' || json === null) return undefined;
  const { id, method, params, result, error } = json as { [key: string]: Json | undefined };
  const isId = id === undefined || typeof id === 'number' || typeof id === 'string';
  const isMethod = method === undefined || typeof method === 'string';
  const failure = error === undefined ? undefined : rpcError.safeParse(error).data;
  if (!isId || !isMethod || (error !== undefined && !failure)) return undefined;
  return { params, result, ...defined({ id, method, error: failure }) };
}

export const initialized = z.object({ userAgent: text });
export const opened = z.object({ thread: z.object({ id: text }), model: optional, cwd: optional });
export const turnAccepted = z.object({ turn: z.object({ id: text }).optional(), turnId: optional });

const codexErrorInfo = z.union([z.string(), z.record(z.string(), z.unknown())]).nullish();
const turnError = z.object({ message: text, codexErrorInfo, additionalDetails: optional });
export type TurnError = z.infer<typeof turnError>;

export const turnEvent = z.object({
  threadId: text,
  turn: z.object({
    id: text,
    status: text,
    error: turnError.nullish(),
    items: z.array(z.object({ type: text, text: text.optional() })).optional(),
  }),
});
export const errorEvent = z.object({ ...inThread, error: turnError, willRetry: z.boolean() });
export const delta = z.object({ ...inThread, itemId: text, delta: text });
export const planUpdate = z.object({ plan: z.array(z.object({ step: text, status: text })) });
export const requestResolved = z.object({ requestId: z.union([z.number(), z.string()]) });
export const noted = z.object({ message: text.optional(), summary: text.optional(), details: optional });
export const mcpStartup = z.object({ name: text, status: text, error: optional });
export const rerouted = z.object({ fromModel: text, toModel: text });

const tokens = z.object({
  totalTokens: whole,
  inputTokens: whole,
  cachedInputTokens: whole,
  cacheWriteInputTokens: whole.default(0),
  outputTokens: whole,
  reasoningOutputTokens: whole,
});
export const tokenUsage = z.object({ ...inThread, tokenUsage: z.object({ total: tokens, last: tokens }) });

const limitWindow = z.object({ usedPercent: count, resetsAt: count.nullish() }).nullish();
export const rateLimits = z.object({ rateLimits: z.object({ primary: limitWindow, secondary: limitWindow }) });

const fileUpdate = z.object({
  path: text,
  kind: z.object({ type: z.enum(['add', 'delete', 'update']), move_path: optional }),
  diff: text,
});
export type FileUpdate = z.infer<typeof fileUpdate>;

/** Items by type. Any other type is unknown, or of no interest (known.ts). */
export const items = {
  userMessage: z.object({ clientId: optional }),
  agentMessage: z.object({ id: text, text }),
  plan: z.object({ id: text, text }),
  reasoning: z.object({ id: text, summary: z.array(text).default([]), content: z.array(text).default([]) }),
  commandExecution: z.object({
    id: text,
    command: text,
    cwd: optional,
    status: text,
    aggregatedOutput: optional,
    exitCode: count.int().nullish(),
  }),
  fileChange: z.object({ id: text, status: text, changes: z.array(fileUpdate) }),
  mcpToolCall: z.object({
    id: text,
    server: text,
    tool: text,
    status: text,
    arguments: json.optional(),
    result: z.object({ content: z.array(json).default([]) }).nullish(),
    error: z.object({ message: text }).nullish(),
  }),
  dynamicToolCall: z.object({ id: text, tool: text, status: text, arguments: json.optional() }),
  collabAgentToolCall: z.object({
    id: text,
    tool: text,
    status: text,
    prompt: optional,
    receiverThreadIds: z.array(text).default([]),
  }),
  subAgentActivity: z.object({ id: text, kind: text, agentThreadId: text, agentPath: optional }),
  webSearch: z.object({ id: text, query: text.default('') }),
  imageView: z.object({ id: text, path: text }),
  imageGeneration: z.object({ id: text, status: text, savedPath: optional }),
  contextCompaction: z.object({ id: text }),
};

/** Looks only at the type: the schema of that type reads the rest, so that nothing is copied twice. */
export function isTyped(value: unknown): value is { type: string } {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

const typed = z.custom<{ type: string }>(isTyped);
export const itemEvent = z.object({ ...inThread, item: typed });

/** Requests of Codex by method. */
export const requests = {
  'item/commandExecution/requestApproval': z.object({
    kind: optional,
    command: optional,
    cwd: optional,
    reason: optional,
    networkApprovalContext: z.object({ host: text, protocol: text }).nullish(),
    additionalPermissions: json.nullish(),
  }),
  'item/fileChange/requestApproval': z.object({ itemId: text, reason: optional, grantRoot: optional }),
  'item/tool/requestUserInput': z.object({
    questions: z
      .array(
        z.object({
          id: text,
          header: optional,
          question: text,
          isOther: z.boolean().default(false),
          isSecret: z.boolean().default(false),
          options: z.array(z.object({ label: text, description: optional })).nullish(),
        }),
      )
      .min(1),
  }),
  'item/permissions/requestApproval': z.object({
    cwd: optional,
    reason: optional,
    permissions: z.record(z.string(), json),
  }),
  'mcpServer/elicitation/request': z.object({
    serverName: text,
    mode: text,
    message: text.default(''),
    url: optional,
    _meta: z.object({ tool_params: json.optional() }).nullish(),
    requestedSchema: z
      .object({ properties: z.record(z.string(), json), required: z.array(text).default([]) })
      .optional(),
  }),
};
export type RequestMethod = keyof typeof requests;
export type RequestParams<M extends RequestMethod> = z.infer<(typeof requests)[M]>;
