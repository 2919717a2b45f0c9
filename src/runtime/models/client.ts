import type { AssistantPart, Message } from './message.ts';

export type ModelKind = 'chat' | 'embedding' | 'reranker';

/** What the catalogue knows of a model; keys as in `models.json`. Prices are dollars per million tokens. */
export interface ModelData {
  name: string;
  type: ModelKind;
  /** The name the provider knows it by, where several entries share one model. */
  real_name?: string;
  max_input_tokens?: number;
  max_output_tokens?: number;
  input_price?: number;
  output_price?: number;
  /** Of cached input; the full price where unknown. */
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
  /** All input, the cached part included. */
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

/** Unknown stays unknown: a sum with an unknown term is no figure. */
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
  /** Text arrives piecewise in the sink; otherwise in one piece. */
  stream: boolean;
  signal?: AbortSignal;
  /** Who asks: a scripted model may answer agents differently. */
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
  /** Dollars; null where a price is unknown. */
  cost: number | null;
}

export interface EmbedRequest {
  model: Model;
  texts: readonly string[];
  signal?: AbortSignal;
}

export interface EmbedReply {
  /** One per text, in order. */
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
  /** Best first; `index` into the documents. */
  results: { index: number; score: number }[];
}

/** Failures are ReefErrors: `keys_exhausted`, `provider_auth`, `provider_rejected`, `provider_stream_broken`, `cancelled`… */
export interface ModelClient {
  chat(request: ChatRequest, sink?: (delta: ChatDelta) => void): Promise<ChatReply>;
  embed(request: EmbedRequest): Promise<EmbedReply>;
  rerank(request: RerankRequest): Promise<RerankReply>;
}

/** One per call to a provider; never a word of the prompt. */
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
  /** `client:name`, or a client alone for its first model of the kind. Unknown: `model_unknown` with the nearest. */
  find(id: string, kind?: ModelKind): Model;
  /** The first chat model there is. */
  first(kind?: ModelKind): Model | undefined;
  /** Loads the provider's code on first use. Its calls may be made at the same time. */
  client(model: Model): ModelClient;
}
