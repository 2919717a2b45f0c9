import { z } from 'zod';
import type { Message } from '../models/message.ts';

const opaque = z.record(z.string(), z.unknown()).exactOptional();
const textPart = z.strictObject({ type: z.literal('text'), text: z.string(), opaque });
const filePart = z.strictObject({
  type: z.literal('file'),
  mediaType: z.string(),
  data: z.string(),
  name: z.string().exactOptional(),
});
const reasoningPart = z.strictObject({ type: z.literal('reasoning'), text: z.string(), opaque });
const callPart = z.strictObject({
  type: z.literal('tool_call'),
  id: z.string(),
  name: z.string(),
  arguments: z.unknown(),
  opaque,
});
const resultPart = z.strictObject({
  type: z.literal('tool_result'),
  id: z.string(),
  name: z.string(),
  output: z.string(),
  isError: z.literal(true).exactOptional(),
});

export const messageSchema = z.discriminatedUnion('role', [
  z.strictObject({ role: z.literal('system'), content: z.string() }),
  z.strictObject({ role: z.literal('user'), content: z.array(z.union([textPart, filePart])) }),
  z.strictObject({
    role: z.literal('assistant'),
    content: z.array(z.union([textPart, reasoningPart, callPart])),
    interrupted: z.literal(true).exactOptional(),
  }),
  z.strictObject({ role: z.literal('tool'), content: z.array(resultPart) }),
]) satisfies z.ZodType<Message>;

const share = z.number().min(0).max(2).nullable().default(null);
const text = z.string().nullable().default(null);
const messages = z.array(messageSchema).default([]);

/** `state.yaml` of a session. Unknown keys are kept from a newer Reef's file: to drop them would be to lose them. */
export const sessionSchema = z.looseObject({
  id: z.uuid(),
  alias: text,
  /** Counts the writes of this file, by whomever. */
  rev: z.number().int().min(0),
  model: text,
  temperature: share,
  top_p: share,
  enabled_tools: text,
  enabled_mcp_servers: text,
  save_session: z.boolean().nullable().default(null),
  compression_threshold: z.number().int().min(0).nullable().default(null),
  role_name: text,
  agent_variables: z.record(z.string(), z.string()).nullable().default(null),
  agent_instructions: text,
  /** One text that stands for `compressed_messages`. */
  summary: text,
  compressed_messages: messages,
  messages,
  /** Digest of an attachment to where it came from. */
  data_urls: z.record(z.string(), z.string()).default({}),
});

export type SessionState = Readonly<z.output<typeof sessionSchema>>;

export const newSessionState = (id: string, alias: string | null = null): SessionState =>
  sessionSchema.parse({ id, alias, rev: 0 });

/** What `.set`, a role and an agent may write. */
export type SessionSettings = Partial<
  Pick<
    SessionState,
    | 'model'
    | 'temperature'
    | 'top_p'
    | 'enabled_tools'
    | 'enabled_mcp_servers'
    | 'save_session'
    | 'compression_threshold'
    | 'role_name'
    | 'agent_variables'
    | 'agent_instructions'
  >
>;

/**
 * What happened to a session, as data, so that it can be told again to what another process has written meanwhile.
 */
export type SessionChange =
  /** User, tools, assistant: one unit, never torn apart by another's. */
  | { kind: 'turn'; messages: readonly Message[]; data_urls?: Readonly<Record<string, string>> }
  | { kind: 'settings'; settings: SessionSettings }
  /** The first `count` messages are now in the summary; they are kept, aside. */
  | { kind: 'compressed'; summary: string; count: number; alreadyCompressed: number }
  | { kind: 'emptied' }
  /** The last turn never was: from its user message on. */
  | { kind: 'undone' }
  /** `.regenerate`, `.continue`: the last answer is replaced. */
  | { kind: 'replaced'; messages: readonly Message[] };

export function applyChange(state: SessionState, change: SessionChange): SessionState {
  switch (change.kind) {
    case 'turn':
      return {
        ...state,
        messages: [...state.messages, ...change.messages],
        data_urls: { ...state.data_urls, ...change.data_urls },
      };
    case 'settings':
      return { ...state, ...change.settings };
    case 'compressed':
      return compressed(state, change);
    case 'emptied':
      return { ...state, messages: [], compressed_messages: [], summary: null, data_urls: {} };
    case 'undone':
      return { ...state, messages: state.messages.slice(0, lastTurnStart(state.messages)) };
    case 'replaced':
      return { ...state, messages: [...state.messages.slice(0, lastTurnStart(state.messages)), ...change.messages] };
  }
}

/** Somebody else's compression came first: ours speaks of messages that are no longer there, so it is void. */
function compressed(state: SessionState, change: Extract<SessionChange, { kind: 'compressed' }>): SessionState {
  if (state.compressed_messages.length !== change.alreadyCompressed) return state;
  return {
    ...state,
    summary: change.summary,
    compressed_messages: [...state.compressed_messages, ...state.messages.slice(0, change.count)],
    messages: state.messages.slice(change.count),
  };
}

/** Where the last user message stands; the end when there is none. */
export function lastTurnStart(all: readonly Message[]): number {
  const index = all.findLastIndex((message) => message.role === 'user');
  return index === -1 ? all.length : index;
}
