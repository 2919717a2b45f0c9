import type { Clock } from '../../base/clock.ts';
import { ReefError, toReefError } from '../../protocol/errors.ts';
import { type CallRecord, type Model, type ModelClient, type ModelData, noUsage, type Usage } from './client.ts';
import type { Key, KeyPool } from './key-pool.ts';
import { type Provider, ProviderFailure } from './provider.ts';

export interface PooledClientDeps {
  name: string;
  provider: () => Promise<Provider>;
  pool: KeyPool;
  clock: Clock;
  /** Replaces a placeholder of the configuration by the secret. */
  reveal: (configured: string) => Promise<string>;
  onCall?: ((record: CallRecord) => void) | undefined;
}

/** A provider with several keys: it rotates them, lets a failed one rest, and records each attempt. */
export function createPooledClient(deps: PooledClientDeps): ModelClient {
  return {
    async chat(request, sink = () => {}) {
      const reply = await withKeys(deps, request, (provider, key) => provider.chat(request, { key, sink }));
      return { ...reply, cost: costOf(request.model.data, reply.usage) };
    },
    async embed(request) {
      if (request.texts.length === 0) return { vectors: [], usage: noUsage, cost: 0 };
      const reply = await withKeys(deps, request, (provider, key) => provider.embed(request, key));
      return { ...reply, cost: costOf(request.model.data, reply.usage) };
    },
    rerank: (request) => withKeys(deps, request, (provider, key) => provider.rerank(request, key)),
  };
}

async function withKeys<T extends object>(
  deps: PooledClientDeps,
  { model, signal }: { model: Model; signal?: AbortSignal },
  call: (provider: Provider, key: string | undefined) => Promise<T>,
): Promise<T> {
  const { pool } = deps;
  const tried = new Set<string>();
  const provider = await deps.provider();
  let last: ProviderFailure | undefined;
  while (true) {
    if (signal?.aborted) throw new ReefError('cancelled', 'The call was cancelled', { cause: signal.reason });
    const key = pool.take(tried);
    if (!key) throw exhausted(deps, last);
    tried.add(key.id);
    const record = recorder(deps, model, key);
    try {
      const reply = await call(provider, key.secret === undefined ? undefined : await deps.reveal(key.secret));
      pool.succeed(key);
      record('ok', usageOf(reply));
      return reply;
    } catch (error) {
      record(outcomeOf(error), noUsage);
      if (!(error instanceof ProviderFailure)) throw error;
      if (error.kind !== 'transient') throw toError(error, { model, key });
      pool.cool(key, error.retryAfterMs);
      last = error;
    }
  }
}

const usageOf = (reply: object | { usage: Usage }) => ('usage' in reply ? reply.usage : noUsage);

function recorder({ name, clock, onCall }: PooledClientDeps, model: Model, key: Key) {
  const startedAt = clock.monotonicMs();
  return (outcome: string, usage: Usage) =>
    onCall?.({
      at: clock.now().toISOString(),
      client: name,
      model: model.id,
      key_id: key.id,
      usage,
      duration_ms: Math.round(clock.monotonicMs() - startedAt),
      outcome,
    });
}

function outcomeOf(error: unknown): string {
  if (!(error instanceof ProviderFailure)) return toReefError(error).code;
  return error.status === undefined ? error.kind : `${error.kind} ${error.status}`;
}

function exhausted({ name, pool }: PooledClientDeps, last: ProviderFailure | undefined): ReefError {
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

/** In dollars; null if a price is unknown, because 0 would mean free. */
export function costOf(model: Readonly<ModelData>, usage: Usage): number | null {
  const { input_price, output_price, cached_price = input_price } = model;
  if (input_price === undefined || cached_price === undefined) return null;
  if (output_price === undefined && usage.output > 0) return null;
  const fresh = usage.input - usage.cached;
  return (fresh * input_price + usage.cached * cached_price + usage.output * (output_price ?? 0)) / MILLION;
}
