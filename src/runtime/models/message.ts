import type { z } from 'zod';
import type { messageSchema } from './message-schema.ts';

export type Message = z.output<typeof messageSchema>;
export type UserMessage = Extract<Message, { role: 'user' }>;
export type AssistantMessage = Extract<Message, { role: 'assistant' }>;
export type ToolMessage = Extract<Message, { role: 'tool' }>;

export type UserPart = UserMessage['content'][number];
export type FilePart = Extract<UserPart, { type: 'file' }>;
export type AssistantPart = AssistantMessage['content'][number];
export type ToolCallPart = Extract<AssistantPart, { type: 'tool_call' }>;
export type ToolResultPart = ToolMessage['content'][number];
export type Opaque = NonNullable<ToolCallPart['opaque']>;

export const userText = (text: string): UserMessage => ({ role: 'user', content: [{ type: 'text', text }] });

export function textOf(message: Message): string {
  if (message.role === 'system') return message.content;
  return message.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('');
}

export function toolCallsOf(message: AssistantMessage): ToolCallPart[] {
  return message.content.filter((part) => part.type === 'tool_call');
}
