import type {
  ChatDelta,
  ChatReply,
  ChatRequest,
  EmbedReply,
  EmbedRequest,
  RerankReply,
  RerankRequest,
} from './client.ts';

/** Makes one attempt with one key. It fails with a ProviderFailure; the pool decides what follows. */
export interface Provider {
  chat(request: ChatRequest, attempt: Attempt): Promise<Omit<ChatReply, 'cost'>>;
  embed(request: EmbedRequest, key: string | undefined): Promise<Omit<EmbedReply, 'cost'>>;
  rerank(request: RerankRequest, key: string | undefined): Promise<RerankReply>;
}

export interface Attempt {
  /** Undefined for servers that need none. */
  key: string | undefined;
  sink: (delta: ChatDelta) => void;
}

/**
 * `transient`: another key may work, or the same one later. `auth`: this key does not work. `broken`: the answer had begun, so a
 * second attempt would repeat it. `rejected`: the request is wrong. `aborted`: the caller cancelled.
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

const TRANSIENT = new Set([429, 500, 502, 503, 504, 529]);

export function kindOfStatus(status: number): FailureKind {
  if (TRANSIENT.has(status)) return 'transient';
  return status === 401 || status === 403 ? 'auth' : 'rejected';
}
