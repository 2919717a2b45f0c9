import type {
  ChatDelta,
  ChatReply,
  ChatRequest,
  EmbedReply,
  EmbedRequest,
  RerankReply,
  RerankRequest,
} from './client.ts';

/** One attempt with one key. Failures are ProviderFailures; the pool above decides what follows from them. */
export interface Provider {
  chat(request: ChatRequest, attempt: Attempt): Promise<Omit<ChatReply, 'cost'>>;
  embed(request: EmbedRequest, attempt: Attempt): Promise<Omit<EmbedReply, 'cost'>>;
  rerank(request: RerankRequest, attempt: Attempt): Promise<RerankReply>;
}

export interface Attempt {
  /** Undefined for servers that want none. */
  key: string | undefined;
  sink: (delta: ChatDelta) => void;
}

/**
 * `transient`: another key, or later, may do. `auth`: this key will not. `broken`: the answer had begun, so asking again would
 * say it twice. `rejected`: the request is at fault. `aborted`: we stopped it.
 */
export type FailureKind = 'transient' | 'auth' | 'broken' | 'rejected' | 'aborted';

export class ProviderFailure extends Error {
  readonly kind: FailureKind;
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(
    kind: FailureKind,
    message: string,
    more: { cause?: unknown; status?: number | undefined; retryAfterMs?: number | undefined } = {},
  ) {
    super(message, { cause: more.cause });
    this.name = 'ProviderFailure';
    this.kind = kind;
    this.status = more.status;
    this.retryAfterMs = more.retryAfterMs;
  }
}

/** 429, 500, 503 and 529; gateways say 502 and 504 for the same. */
const TRANSIENT = new Set([429, 500, 502, 503, 504, 529]);

export function kindOfStatus(status: number): FailureKind {
  if (TRANSIENT.has(status)) return 'transient';
  return status === 401 || status === 403 ? 'auth' : 'rejected';
}
