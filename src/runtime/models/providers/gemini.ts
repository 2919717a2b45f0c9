import { createGoogle } from '@ai-sdk/google';
import type { SdkDialect } from './sdk-types.ts';

export const gemini: SdkDialect = {
  open({ baseURL, key, headers, fetch }) {
    const sdk = createGoogle({ apiKey: key ?? '', headers, fetch, ...(baseURL !== undefined && { baseURL }) });
    return { chat: (model) => sdk.languageModel(model), embedding: (model) => sdk.embeddingModel(model) };
  },
};
