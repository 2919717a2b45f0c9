import type { ChatReply, ChatRequest, ModelClient } from '../../../src/runtime/models/client.ts';
import { noUsage } from '../../../src/runtime/models/client.ts';
import { textOf } from '../../../src/runtime/models/message.ts';
import type { Ports } from '../../../src/runtime/state/app-state.ts';

export interface Speaker {
  requests: ChatRequest[];
  /** What was asked, as text. */
  asked(): string[];
  ports(ports: Ports): Partial<Ports>;
}

/** A provider that answers as a test decides, in its own time. */
export function speaker(answer: (request: ChatRequest) => string | Promise<string>): Speaker {
  const requests: ChatRequest[] = [];
  const none = () => Promise.reject(new Error('chats only'));
  const client: ModelClient = {
    async chat(request): Promise<ChatReply> {
      requests.push(request);
      const text = await answer(request);
      return { content: [{ type: 'text', text }], finish: 'stop', usage: noUsage, cost: 0 };
    },
    embed: none,
    rerank: none,
  };
  return {
    requests,
    asked: () => requests.map(({ messages }) => messages.map(textOf).join('\n')),
    ports: (ports) => ({ models: { ...ports.models, client: () => client } }),
  };
}
