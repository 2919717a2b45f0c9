import type { TokenCounter } from '../../base/tokens.ts';
import type { Message } from '../models/message.ts';

/** What a provider adds around a message, roughly. */
const TOKENS_AROUND = 4;

/** A message as plain text, tools included. */
export function fullText(message: Message): string {
  if (message.role === 'system') return message.content;
  return message.content
    .map((part) => {
      if (part.type === 'text' || part.type === 'reasoning') return part.text;
      if (part.type === 'tool_call') return `${part.name}(${JSON.stringify(part.arguments)})`;
      if (part.type === 'tool_result') return `${part.name} → ${part.output}`;
      return `[${part.name ?? part.mediaType}]`;
    })
    .join('\n');
}

export function tokensOf(messages: readonly Message[], tokens: Pick<TokenCounter, 'count'>): number {
  return messages.reduce((sum, message) => sum + TOKENS_AROUND + tokens.count(fullText(message)), 0);
}
