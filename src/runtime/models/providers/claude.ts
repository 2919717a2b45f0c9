import { createAnthropic } from '@ai-sdk/anthropic';
import type { SdkDialect } from './sdk-types.ts';

export const claude: SdkDialect = {
  open({ baseURL, key, headers, fetch }) {
    const sdk = createAnthropic({ apiKey: key ?? '', headers, fetch, ...(baseURL !== undefined && { baseURL }) });
    return { chat: (model) => sdk.languageModel(model), embedding: (model) => sdk.embeddingModel(model) };
  },
  cacheMark: { anthropic: { cacheControl: { type: 'ephemeral' } } },
  maxOutputTokens: 8_192,
};
