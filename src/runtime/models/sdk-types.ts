import type { OpenAICompatibleProvider } from '@ai-sdk/openai-compatible';

/** The SDK's provider interface, taken from a package we declare. All providers implement the same version. */
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

/** What all provider packages have in common. */
export interface OptionalSdk {
  languageModel(model: string): SdkChatModel;
  embeddingModel(model: string): SdkEmbeddingModel;
  /** The older interface of a provider that has two. */
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
  /** Sent with every request. */
  options?: SdkOptions;
  /** Put on some blocks of a prompt, for providers that cache only up to a mark. */
  cacheMark?: SdkOptions;
  /** For models with an unknown limit, if the provider requires one. */
  maxOutputTokens?: number;
  /** The default address for reranking. */
  rerankBase?: string;
}
