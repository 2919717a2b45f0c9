import type { Json } from '../adapter.ts';

/** Codex speaks JSON-RPC without its `jsonrpc` member, one message a line. */
export const requestLine = (id: number, method: string, params: unknown) => JSON.stringify({ id, method, params });
export const notificationLine = (method: string) => JSON.stringify({ method });
export const replyLine = (id: Json, result: unknown) => JSON.stringify({ id, result });

const METHOD_NOT_FOUND = -32601;

export function refusalLine(id: Json, method: string): string {
  return JSON.stringify({ id, error: { code: METHOD_NOT_FOUND, message: `Reef does not serve ${method}` } });
}

interface Message {
  id: number;
  threadId: string;
  messageId: string;
  text: string;
}

const input = (text: string) => [{ type: 'text', text, text_elements: [] }];

export function turnStartLine({ id, threadId, messageId, text }: Message): string {
  return requestLine(id, 'turn/start', { threadId, clientUserMessageId: messageId, input: input(text) });
}

export function turnSteerLine({ id, threadId, messageId, text }: Message, expectedTurnId: string): string {
  const params = { threadId, clientUserMessageId: messageId, expectedTurnId, input: input(text) };
  return requestLine(id, 'turn/steer', params);
}
