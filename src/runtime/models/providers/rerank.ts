import { z } from 'zod';
import type { RerankReply, RerankRequest } from '../client.ts';
import { kindOfStatus, ProviderFailure } from '../provider.ts';
import { toFailure } from './sdk-failure.ts';
import type { SdkSettings } from './sdk-types.ts';

const answerSchema = z.object({
  results: z.array(z.object({ index: z.number().int().min(0), relevance_score: z.number() })),
});

/** `POST <base>/rerank`, as Jina, Cohere, Voyage and the local servers have it; the SDK's own packages know no common form. */
export async function rerankOver(settings: SdkSettings, request: RerankRequest): Promise<RerankReply> {
  const { model, query, documents, top_n, signal } = request;
  if (settings.baseURL === undefined) {
    throw new ProviderFailure('rejected', `${settings.name} has no reranker: give it an api_base that serves /rerank`);
  }
  try {
    const response = await settings.fetch(`${settings.baseURL}/rerank`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(settings.key !== undefined && { authorization: `Bearer ${settings.key}` }),
        ...settings.headers,
      },
      body: JSON.stringify({ model: model.data.real_name ?? model.name, query, documents, top_n }),
      ...(signal && { signal }),
    });
    const text = await response.text();
    if (!response.ok) {
      const wait = Number(response.headers.get('retry-after'));
      throw new ProviderFailure(kindOfStatus(response.status), text.slice(0, 2_000) || response.statusText, {
        status: response.status,
        retryAfterMs: wait > 0 ? wait * 1000 : undefined,
      });
    }
    const { results } = answerSchema.parse(JSON.parse(text));
    return {
      results: results
        .filter(({ index }) => index < documents.length)
        .map(({ index, relevance_score }) => ({ index, score: relevance_score }))
        .sort((a, b) => b.score - a.score),
    };
  } catch (error) {
    throw toFailure(error, { hasBegun: false, signal });
  }
}
