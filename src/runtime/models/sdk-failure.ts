import { kindOfStatus, ProviderFailure } from './provider.ts';

/** The SDK's error for a provider's answer. Known by its shape, because several copies of its class may be loaded. */
interface CallError extends Error {
  statusCode?: number;
  responseHeaders?: Readonly<Record<string, string>>;
  responseBody?: string;
}

/** Error events in a stream have a type instead of a status. */
const FINAL_TYPES = /invalid_request|authentication|permission|not_found|too_large|INVALID_ARGUMENT|UNAUTHENTICATED/;
const LONGEST_MESSAGE = 2_000;

export function toFailure(
  error: unknown,
  state: { hasBegun: boolean; signal: AbortSignal | undefined },
): ProviderFailure {
  if (error instanceof ProviderFailure) return error;
  if (state.signal?.aborted) return new ProviderFailure('aborted', 'cancelled', { cause: error });
  const message = messageOf(error).slice(0, LONGEST_MESSAGE);
  if (state.hasBegun) return new ProviderFailure('broken', message, { cause: error });
  const call: CallError | undefined = error instanceof Error ? error : undefined;
  if (call?.statusCode === undefined || call.statusCode < 400) {
    const isFinal = FINAL_TYPES.test(call ? call.name : safeJson(error)) || isOurs(call);
    return new ProviderFailure(isFinal ? 'rejected' : 'transient', message, { cause: error });
  }
  const retryAfterMs = retryAfter(call);
  return new ProviderFailure(kindOfStatus(call.statusCode), message, {
    cause: error,
    status: call.statusCode,
    retryAfterMs,
  });
}

/** The SDK refuses the prompt or cannot read the answer: a second attempt would fail as well. */
function isOurs(error: CallError | undefined): boolean {
  if (!error) return false;
  return /^AI_(InvalidPrompt|InvalidArgument|UnsupportedFunctionality|LoadAPIKey|LoadSetting|NoSuchModel|TooManyEmbedding|TypeValidation|JSONParse|InvalidResponseData)/.test(
    error.name,
  );
}

function messageOf(error: unknown): string {
  if (error instanceof Error) {
    const cause = error.cause instanceof Error && error.cause.message !== '' ? ` (${error.cause.message})` : '';
    return `${error.message || error.name}${cause}`;
  }
  if (typeof error === 'object' && error !== null && 'message' in error) return String(error.message);
  return typeof error === 'string' ? error : safeJson(error);
}

function safeJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
}

/** From the headers (seconds, a date or milliseconds), or from the body as Google has it. */
function retryAfter({ responseHeaders = {}, responseBody = '' }: CallError): number | undefined {
  const milliseconds = Number(responseHeaders['retry-after-ms']);
  if (milliseconds > 0) return milliseconds;
  const header = responseHeaders['retry-after'];
  if (header !== undefined) {
    const wait = /^\d+(\.\d+)?$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
    if (Number.isFinite(wait)) return Math.max(0, wait);
  }
  const delay = /"retryDelay":\s*"(\d{1,6}(?:\.\d{1,9})?)s"/.exec(responseBody)?.[1];
  return delay === undefined ? undefined : Number(delay) * 1000;
}
