import { z } from 'zod';
import type { Message } from '../models/message.ts';
import { messageSchema } from '../models/message-schema.ts';

const share = z.number().min(0).max(2).nullable().default(null);
const text = z.string().nullable().default(null);
const messages = z.array(messageSchema).default([]);

/** What `.set`, a role and an agent may write. */
const settingsSchema = z.object({
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
});
export type SessionSettings = Partial<z.output<typeof settingsSchema>>;

/** `state.yaml` of a session. Unknown keys are kept: a newer Reef may have written them. */
export const sessionSchema = z.looseObject({
  id: z.uuid(),
  alias: text,
  /** Counts the writes of this file, by all processes. */
  rev: z.number().int().min(0),
  ...settingsSchema.shape,
  /** Stands for `compressed_messages` in the prompt. */
  summary: text,
  compressed_messages: messages,
  messages,
  /** Digest of an attachment to where it came from; files of Loki have it. */
  data_urls: z.record(z.string(), z.string()).default({}),
});

export type SessionState = Readonly<z.output<typeof sessionSchema>>;

export const newSessionState = (id: string): SessionState => sessionSchema.parse({ id, rev: 0 });

/** A change of a session as data: it is applied again to the file, which another process may have changed. */
export type SessionChange =
  /** User, tools and assistant stay together, whatever others write. */
  | { kind: 'turn'; messages: readonly Message[] }
  | { kind: 'settings'; settings: SessionSettings }
  /** The summary stands for the first `count` messages, which move to `compressed_messages`. */
  | { kind: 'compressed'; summary: string; count: number; alreadyCompressed: number }
  | { kind: 'emptied' }
  /** Removes the last turn. */
  | { kind: 'undone' }
  /** Replaces the last turn: `.regenerate`, `.continue`. */
  | { kind: 'replaced'; messages: readonly Message[] };

export function applyChange(state: SessionState, change: SessionChange): SessionState {
  switch (change.kind) {
    case 'turn':
      return { ...state, messages: [...state.messages, ...change.messages] };
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

/** If another process compressed first, the messages this change counts are gone, and it has no effect. */
function compressed(state: SessionState, change: Extract<SessionChange, { kind: 'compressed' }>): SessionState {
  if (state.compressed_messages.length !== change.alreadyCompressed) return state;
  return {
    ...state,
    summary: change.summary,
    compressed_messages: [...state.compressed_messages, ...state.messages.slice(0, change.count)],
    messages: state.messages.slice(change.count),
  };
}

/** The index of the last user message, or the end if there is none. */
export function lastTurnStart(all: readonly Message[]): number {
  const index = all.findLastIndex((message) => message.role === 'user');
  return index === -1 ? all.length : index;
}
