import { createOpenAI } from '@ai-sdk/openai';
import type { SdkDialect } from './sdk-types.ts';

const text = (value: unknown) => (typeof value === 'string' ? value : undefined);

/** The Responses API, whose reasoning survives a tool call; `api: chat` for servers that only have the older one. */
export const openai: SdkDialect = {
  open({ name, baseURL, key, headers, fetch, config }) {
    const organization = text(config.organization_id);
    const sdk = createOpenAI({
      name,
      apiKey: key ?? '',
      headers,
      fetch,
      ...(baseURL !== undefined && { baseURL }),
      ...(organization !== undefined && { organization }),
    });
    return {
      chat: (model) => (config.api === 'chat' ? sdk.chat(model) : sdk.responses(model)),
      embedding: (model) => sdk.embedding(model),
    };
  },
  // Nothing of a conversation is to stay with the provider; reasoning then travels encrypted, in the messages themselves.
  options: { openai: { store: false } },
};
