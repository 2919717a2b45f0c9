import type { Json } from './script.ts';
import type { Failure } from './wire.ts';

const codes: Record<number, string> = {
  401: 'invalid_api_key',
  429: 'rate_limit_exceeded',
  503: 'server_is_overloaded',
};

export function openaiFailure({ status, message }: Failure): Json {
  const type = status >= 500 ? 'server_error' : 'invalid_request_error';
  return { error: { message, type, param: null, code: codes[status] ?? null } };
}
