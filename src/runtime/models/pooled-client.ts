import type { Clock } from '../../base/clock.ts';
import { ReefError, toReefError } from '../../protocol/errors.ts';
import { type CallRecord, type Model, type ModelClient, type ModelData, noUsage, type Usage } from './client.ts';
import type { Key, KeyPool } from './key-pool.ts';
import { type Attempt, type Provider, ProviderFailure } from './provider.ts';

export interface PooledClientParts {
  name: string;
  provider: () => Promise<Provider>;
  pool: KeyPool;
  clock: Clock;
  /** Turns what stands in the configuration into the secret itself. */
  reveal: (configured: string) => Promise<string>;
  onCall?: ((record: CallRecord) => void) | undefined;
}

interface Call<T> {
  model: Model;
  signal: AbortSignal | undefined;
  sink?: Attempt['sink'] | undefined;
  once: (provider: Provider, attempt: Attempt) => Promise<T>;
  usage: (reply: T) => Usage;
}

/** A provider behind its keys: rotates, cools down, gives up with a time, and leaves a record of each attempt. */
export function createPooledClient(parts: PooledClientParts): ModelClient {
  return {
    async chat(request, sink) {
      const { model, signal } = request;
      const once: Call<Awaited<ReturnType<Provider['chat']>>>['once'] = (provider, attempt) =>
        provider.chat(request, attempt);
      const reply = await withKeys(parts, { model, signal, sink, once, usage: ({ usage }) => usage });
      return { ...reply, cost: costOf(model.data, reply.usage) };
    },
    async embed(request) {
      const { model, signal } = request;
      if (request.texts.length === 0) return { vectors: [], usage: noUsage, cost: 0 };
      const once: Call<Awaited<ReturnType<Provider['embed']>>>['once'] = (provider, attempt) =>
        provider.embed(request, attempt);
      const reply = await withKeys(parts, { model, signal, once, usage: ({ usage }) => usage });
      return { ...reply, cost: costOf(model.data, reply.usage) };
    },
    rerank(request) {
      const { model, signal } = request;
      return withKeys(parts, {
        model,
        signal,
        once: (provider, attempt) => provider.rerank(request, attempt),
        usage: () => noUsage,
      });
    },
  };
}

async function withKeys<T>(parts: PooledClientParts, call: Call<T>): Promise<T> {
  const tried = new Set<string>();
  const provider = await parts.provider();
  let last: ProviderFailure | undefined;
  while (true) {
    if (call.signal?.aborted) throw new ReefError('cancelled', 'The call was cancelled', { cause: call.signal.reason });
    const key = parts.pool.take(tried);
    if (!key) throw exhausted(parts, last);
    tried.add(key.id);
    try {
      return await attempt(parts, call, { key, provider });
    } catch (error) {
      if (!(error instanceof ProviderFailure)) throw error;
      if (error.kind !== 'transient') throw toError(error, { model: call.model, key });
      parts.pool.cool(key, error.retryAfterMs);
      last = error;
    }
  }
}

async function attempt<T>(
  parts: PooledClientParts,
  call: Call<T>,
  { key, provider }: { key: Key; provider: Provider },
): Promise<T> {
  const startedAt = parts.clock.monotonicMs();
  const record = (outcome: string, usage: Usage) =>
    parts.onCall?.({
      at: parts.clock.now().toISOString(),
      client: parts.name,
      model: call.model.id,
      key_id: key.id,
      usage,
      duration_ms: Math.round(parts.clock.monotonicMs() - startedAt),
      outcome,
    });
  try {
    const secret = key.secret === undefined ? undefined : await parts.reveal(key.secret);
    const reply = await call.once(provider, { key: secret, sink: call.sink ?? (() => {}) });
    parts.pool.succeed(key);
    record('ok', call.usage(reply));
    return reply;
  } catch (error) {
    record(outcomeOf(error), noUsage);
    throw error;
  }
}

function outcomeOf(error: unknown): string {
  if (!(error instanceof ProviderFailure)) return toReefError(error).code;
  return error.status === undefined ? error.kind : `${error.kind} ${error.status}`;
}

function exhausted({ name, pool }: PooledClientParts, last: ProviderFailure | undefined): ReefError {
  const at = pool.earliest().toISOString();
  const why = last ? `: ${last.message}` : '';
  return new ReefError('keys_exhausted', `No key of ${name} can be used before ${at}${why}`, {
    cause: last,
    details: { client: name, retry_at: at, ...(last?.status !== undefined && { status: last.status }) },
  });
}

function toError(failure: ProviderFailure, { model, key }: { model: Model; key: Key }): ReefError {
  const details = { model: model.id, key_id: key.id, ...(failure.status !== undefined && { status: failure.status }) };
  const more = { cause: failure, details };
  switch (failure.kind) {
    case 'auth':
      return new ReefError('provider_auth', `${model.client} refused the key ${key.id}: ${failure.message}`, more);
    case 'broken':
      return new ReefError('provider_stream_broken', `The answer of ${model.id} broke off: ${failure.message}`, more);
    case 'aborted':
      return new ReefError('cancelled', 'The call was cancelled', more);
    case 'rejected':
    case 'transient':
      return new ReefError('provider_rejected', `${model.id}: ${failure.message}`, more);
  }
}

const MILLION = 1_000_000;

/** Dollars. What has no price has no cost: never 0, which would say that it is free. */
export function costOf(model: Readonly<ModelData>, usage: Usage): number | null {
  const { input_price, output_price, cached_price = input_price } = model;
  if (input_price === undefined || cached_price === undefined) return null;
  if (output_price === undefined && usage.output > 0) return null;
  const fresh = usage.input - usage.cached;
  return (fresh * input_price + usage.cached * cached_price + usage.output * (output_price ?? 0)) / MILLION;
}
