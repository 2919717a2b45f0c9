import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { ReefError } from '../../../protocol/errors.ts';
import type { SdkDialect } from './sdk-types.ts';

export const openaiCompatible: SdkDialect = {
  open({ name, baseURL, key, headers, fetch }) {
    if (baseURL === undefined) throw new ReefError('config_invalid', `The client ${name} needs an api_base`);
    const sdk = createOpenAICompatible({
      name,
      baseURL,
      headers,
      fetch,
      includeUsage: true,
      ...(key !== undefined && { apiKey: key }),
    });
    return { chat: (model) => sdk.chatModel(model), embedding: (model) => sdk.embeddingModel(model) };
  },
};
