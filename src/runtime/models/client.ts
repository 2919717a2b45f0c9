import type { AssistantPart, Message } from './message.ts';

export type ModelKind = 'chat' | 'embedding' | 'reranker';

/** A model of the catalogue, with the keys of `models.json`. Prices are dollars per million tokens. */
export interface ModelData {
  name: string;
  type: ModelKind;
  /** The provider's name for it, if several entries share one model. */
  real_name?: string;
  max_input_tokens?: number;
  max_output_tokens?: number;
  input_price?: number;
  output_price?: number;
  /** The price of cached input; `input_price` by default. */
  cached_price?: number;
  supports_vision?: boolean;
  supports_function_calling?: boolean;
  default_chunk_size?: number;
  max_batch_size?: number;
}

export interface Model {
  /** `client:name`. */
  readonly id: string;
  readonly client: string;
  readonly name: string;
  readonly kind: ModelKind;
  readonly data: Readonly<ModelData>;
}

export interface Usage {
  /** All input, with the cached part. */
  input: number;
  output: number;
  cached: number;
  /** Part of `output`. */
  reasoning: number;
}

export const noUsage: Usage = Object.freeze({ input: 0, output: 0, cached: 0, reasoning: 0 });

export function addUsage(a: Usage, b: Usage): Usage {
  return {
    input: a.input + b.input,
    output: a.output + b.output,
    cached: a.cached + b.cached,
    reasoning: a.reasoning + b.reasoning,
  };
}

/** Null if either cost is unknown. */
export function addCost(a: number | null, b: number | null): number | null {
  return a === null || b === null ? null : a + b;
}

export type JsonSchema = Readonly<Record<string, unknown>>;

export interface ToolDeclaration {
  name: string;
  description: string;
  parameters: JsonSchema;
}

export interface ChatRequest {
  model: Model;
  messages: readonly Message[];
  tools?: readonly ToolDeclaration[];
  temperature?: number | null;
  top_p?: number | null;
  max_output_tokens?: number | null;
  /** True to get the text in pieces. */
  stream: boolean;
  signal?: AbortSignal;
  /** The agent that asks: a scripted model may answer agents differently. */
  agent?: string;
}

export interface ChatDelta {
  type: 'text' | 'reasoning';
  text: string;
}

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'other';

export interface ChatReply {
  content: AssistantPart[];
  finish: FinishReason;
  usage: Usage;
  /** In dollars; null if a price is unknown. */
  cost: number | null;
}

export interface EmbedRequest {
  model: Model;
  texts: readonly string[];
  signal?: AbortSignal;
}

export interface EmbedReply {
  vectors: number[][];
  usage: Usage;
  cost: number | null;
}

export interface RerankRequest {
  model: Model;
  query: string;
  documents: readonly string[];
  top_n: number;
  signal?: AbortSignal;
}

export interface RerankReply {
  /** Best first. `index` is that of the document. */
  results: { index: number; score: number }[];
}

/** Fails with `keys_exhausted`, `provider_auth`, `provider_rejected`, `provider_stream_broken` or `cancelled`. */
export interface ModelClient {
  chat(request: ChatRequest, sink?: (delta: ChatDelta) => void): Promise<ChatReply>;
  embed(request: EmbedRequest): Promise<EmbedReply>;
  rerank(request: RerankRequest): Promise<RerankReply>;
}

/** The record of one call to a provider, without anything of the prompt. */
export interface CallRecord {
  at: string;
  client: string;
  model: string;
  key_id: string;
  usage: Usage;
  duration_ms: number;
  /** `ok`, or the code of the failure. */
  outcome: string;
}

export interface ModelRegistry {
  list(kind?: ModelKind): readonly Model[];
  /** Finds `client:name`, or the first model of a client. Throws `model_unknown` with the nearest name. */
  find(id: string, kind?: ModelKind): Model;
  first(kind?: ModelKind): Model | undefined;
  /** Loads the provider's code on first use. */
  client(model: Model): ModelClient;
}
