import { z } from 'zod';
import {
  type ChatRequest,
  type EmbedRequest,
  type Model,
  noUsage,
  type RerankReply,
  type RerankRequest,
} from './client.ts';
import type { PatchedCall } from './patched-fetch.ts';
import { type Attempt, kindOfStatus, type Provider, ProviderFailure } from './provider.ts';
import { toFailure } from './sdk-failure.ts';
import { fromContent, ReplyBuilder, toFinish, toUsage } from './sdk-reply.ts';
import { toCallOptions } from './sdk-request.ts';
import type { SdkChatModel, SdkDialect, SdkSettings } from './sdk-types.ts';

const PARALLEL_BATCHES = 4;

export type SettingsOf = (model: Model, call: PatchedCall) => Omit<SdkSettings, 'key'>;

/** A provider of the AI SDK. Each attempt opens it with its own key; the SDK itself does not retry. */
export function createSdkProvider(dialect: SdkDialect, settingsOf: SettingsOf): Provider {
  const wireName = ({ model }: { model: Model }) => model.data.real_name ?? model.name;
  return {
    chat(request, attempt) {
      const settings = settingsOf(request.model, 'chat_completions');
      const model = dialect.open({ ...settings, key: attempt.key }).chat(wireName(request));
      const answer = request.stream ? streamed : whole;
      return answer(model, request, dialect, attempt.sink);
    },
    async embed(request, key) {
      const { embedMany } = await import('ai');
      const settings = settingsOf(request.model, 'embeddings');
      const model = dialect.open({ ...settings, key }).embedding(wireName(request));
      try {
        const { embeddings, usage } = await embedMany({
          model: limited(model, request.model.data.max_batch_size),
          values: [...request.texts],
          maxRetries: 0,
          maxParallelCalls: PARALLEL_BATCHES,
          ...(request.signal && { abortSignal: request.signal }),
        });
        return { vectors: embeddings, usage: { ...noUsage, input: Number.isFinite(usage.tokens) ? usage.tokens : 0 } };
      } catch (error) {
        throw toFailure(error, { hasBegun: false, signal: request.signal });
      }
    },
    rerank(request, key) {
      const settings = settingsOf(request.model, 'rerank');
      const baseURL = settings.baseURL ?? dialect.rerankBase;
      return rerankOver({ ...settings, baseURL, key }, request);
    },
  };
}

async function streamed(model: SdkChatModel, request: ChatRequest, dialect: SdkDialect, sink: Attempt['sink']) {
  const builder = new ReplyBuilder(sink);
  try {
    const { stream } = await model.doStream(toCallOptions(request, dialect));
    for await (const part of stream) {
      if (part.type === 'error') throw part.error;
      builder.add(part);
    }
    const reply = builder.reply();
    if (reply) return reply;
    throw new ProviderFailure(builder.hasBegun ? 'broken' : 'transient', 'The connection ended before the answer did');
  } catch (error) {
    throw toFailure(error, { hasBegun: builder.hasBegun, signal: request.signal });
  }
}

async function whole(model: SdkChatModel, request: ChatRequest, dialect: SdkDialect, sink: Attempt['sink']) {
  try {
    const { content, finishReason, usage } = await model.doGenerate(toCallOptions(request, dialect));
    const parts = fromContent(content);
    for (const part of parts)
      if (part.type !== 'tool_call' && part.text !== '') sink({ type: part.type, text: part.text });
    return { content: parts, finish: toFinish(finishReason), usage: toUsage(usage) };
  } catch (error) {
    throw toFailure(error, { hasBegun: false, signal: request.signal });
  }
}

type EmbeddingModel = ReturnType<ReturnType<SdkDialect['open']>['embedding']>;

/** Some servers accept fewer texts per call than the SDK assumes. */
function limited(model: EmbeddingModel, max: EmbedRequest['model']['data']['max_batch_size']): EmbeddingModel {
  if (max === undefined) return model;
  return new Proxy(model, {
    get: (target, name) => {
      if (name === 'maxEmbeddingsPerCall') return max;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

const answerSchema = z.object({
  results: z.array(z.object({ index: z.number().int().min(0), relevance_score: z.number() })),
});

/** `POST <base>/rerank`, as Jina, Cohere, Voyage and local servers have it. The SDK has no common form. */
async function rerankOver(settings: SdkSettings, request: RerankRequest): Promise<RerankReply> {
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
