import type { ChatRequest, EmbedRequest, Model } from '../client.ts';
import type { PatchedCall } from '../patched-fetch.ts';
import type { Attempt, Provider } from '../provider.ts';
import { ProviderFailure } from '../provider.ts';
import { fromContent, ReplyBuilder, toFinish, toUsage } from './reply-builder.ts';
import { rerankOver } from './rerank.ts';
import { toFailure } from './sdk-failure.ts';
import type { SdkChatModel, SdkDialect, SdkSettings } from './sdk-types.ts';
import { toCallOptions } from './to-sdk.ts';

const PARALLEL_BATCHES = 4;

export type SettingsOf = (model: Model, call: PatchedCall) => Omit<SdkSettings, 'key'>;

/** A provider of the AI SDK. Each attempt opens it with its own key; the SDK's own retries are off. */
export function createSdkProvider(dialect: SdkDialect, settingsOf: SettingsOf): Provider {
  const wireName = ({ model }: { model: Model }) => model.data.real_name ?? model.name;
  return {
    chat(request, attempt) {
      const settings = settingsOf(request.model, 'chat_completions');
      const model = dialect.open({ ...settings, key: attempt.key }).chat(wireName(request));
      return request.stream
        ? streamed(model, { request, attempt, dialect })
        : whole(model, { request, attempt, dialect });
    },
    async embed(request, attempt) {
      const { embedMany } = await import('ai');
      const settings = settingsOf(request.model, 'embeddings');
      const model = dialect.open({ ...settings, key: attempt.key }).embedding(wireName(request));
      try {
        const { embeddings, usage } = await embedMany({
          model: limited(model, request.model.data.max_batch_size),
          values: [...request.texts],
          maxRetries: 0,
          maxParallelCalls: PARALLEL_BATCHES,
          ...(request.signal && { abortSignal: request.signal }),
        });
        return { vectors: embeddings, usage: embeddingUsage(usage.tokens) };
      } catch (error) {
        throw toFailure(error, { hasBegun: false, signal: request.signal });
      }
    },
    rerank(request, attempt) {
      const settings = settingsOf(request.model, 'rerank');
      const baseURL = settings.baseURL ?? dialect.rerankBase;
      return rerankOver({ ...settings, baseURL, key: attempt.key }, request);
    },
  };
}

interface Exchange {
  request: ChatRequest;
  attempt: Attempt;
  dialect: SdkDialect;
}

async function streamed(model: SdkChatModel, { request, attempt, dialect }: Exchange) {
  const builder = new ReplyBuilder(attempt.sink);
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

async function whole(model: SdkChatModel, { request, attempt, dialect }: Exchange) {
  try {
    const { content, finishReason, usage } = await model.doGenerate(toCallOptions(request, dialect));
    const parts = fromContent(content);
    for (const part of parts)
      if (part.type !== 'tool_call' && part.text !== '') attempt.sink({ type: part.type, text: part.text });
    return { content: parts, finish: toFinish(finishReason), usage: toUsage(usage) };
  } catch (error) {
    throw toFailure(error, { hasBegun: false, signal: request.signal });
  }
}

type EmbeddingModel = ReturnType<ReturnType<SdkDialect['open']>['embedding']>;

/** Some servers take fewer texts a call than their SDK believes. */
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

const embeddingUsage = (tokens: number) => ({
  input: Number.isFinite(tokens) ? tokens : 0,
  output: 0,
  cached: 0,
  reasoning: 0,
});
