import type { OpenAICompatibleProvider } from '@ai-sdk/openai-compatible';

/** The SDK's provider interface, by way of a package we declare: all providers implement the same version of it. */
export type SdkChatModel = ReturnType<OpenAICompatibleProvider['chatModel']>;
type SdkEmbeddingModel = ReturnType<OpenAICompatibleProvider['embeddingModel']>;

export type SdkCallOptions = Parameters<SdkChatModel['doStream']>[0];
export type SdkPrompt = SdkCallOptions['prompt'];
export type SdkMessage = SdkPrompt[number];
type SdkStream = Awaited<ReturnType<SdkChatModel['doStream']>>['stream'];
export type SdkStreamPart = SdkStream extends ReadableStream<infer Part> ? Part : never;
type SdkGenerated = Awaited<ReturnType<SdkChatModel['doGenerate']>>;
export type SdkContent = SdkGenerated['content'][number];
export type SdkUsage = SdkGenerated['usage'];
export type SdkFinish = SdkGenerated['finishReason'];
export type SdkOptions = NonNullable<SdkMessage['providerOptions']>;

/** What the packages that users install have in common. */
export interface OptionalSdk {
  languageModel(model: string): SdkChatModel;
  embeddingModel(model: string): SdkEmbeddingModel;
  /** Where a provider has an older interface beside its newest. */
  chat?(model: string): SdkChatModel;
}

/** A client of the SDK, opened with one key. */
interface SdkClient {
  chat(model: string): SdkChatModel;
  embedding(model: string): SdkEmbeddingModel;
}

export interface SdkSettings {
  name: string;
  baseURL: string | undefined;
  key: string | undefined;
  headers: Record<string, string>;
  fetch: typeof globalThis.fetch;
  /** The client's own entries of the configuration (`organization_id`, `api`, …). */
  config: Readonly<Record<string, unknown>>;
}

export interface SdkDialect {
  open(settings: SdkSettings): SdkClient;
  /** What every request of this provider carries. */
  options?: SdkOptions;
  /** Put on the system prompt and the last message, where a provider caches up to marked places only. */
  cacheMark?: SdkOptions;
  /** For models whose limit is unknown and whose provider wants one. */
  maxOutputTokens?: number;
  /** Where a provider reranks unless `api_base` says otherwise. */
  rerankBase?: string;
}
