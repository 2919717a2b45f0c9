import type { ErrorCode } from '../../protocol/errors.ts';
import type { Json } from '../adapter.ts';
import type { RpcError } from './messages.ts';

export const AUTH_REQUIRED = -32000;
const NOT_LOGGED_IN =
  /\b(unauthori[sz]ed|unauthenticated|authentication required|invalid (x-)?api[- ]key|not logged in)\b/i;

export interface Failure {
  code: Extract<ErrorCode, 'agent_not_logged_in' | 'rate_limit' | 'agent_error'>;
  message: string;
  status?: number;
  retryable: boolean;
}

/** Agents hide the provider's answer in four ways: as the code, as JSON in the message, in `data`, or only in words. */
export function describeFailure(error: RpcError): Failure {
  const words = [field(error.data, 'message'), field(error.data, 'details'), error.message].map(unwrap);
  const message = words.map((text) => text.replace(/^Internal error(: )?/, '')).find(Boolean) ?? `error ${error.code}`;
  const status = httpStatus(error, message);
  const facts = { message, ...(status === undefined ? {} : { status }) };
  if (status === 429) return { ...facts, code: 'rate_limit', retryable: true };
  if (error.code === AUTH_REQUIRED || status === 401 || NOT_LOGGED_IN.test(message)) {
    return { ...facts, code: 'agent_not_logged_in', retryable: false };
  }
  return { ...facts, code: 'agent_error', retryable: status !== undefined && status >= 500 };
}

function field(value: Json | undefined, name: string): string {
  const found = typeof value === 'object' && value !== null && !Array.isArray(value) ? value[name] : undefined;
  return typeof found === 'string' ? found : '';
}

/** `{"error":{"message":"…"}}` as a string is the body of the provider's answer. */
function unwrap(text: string): string {
  if (!text.startsWith('{')) return text;
  try {
    const body = JSON.parse(text) as Json;
    const inner = typeof body === 'object' && body !== null && !Array.isArray(body) ? body.error : undefined;
    return field(inner, 'message') || text;
  } catch {
    return text; // words that begin with a brace
  }
}

function httpStatus({ code, data }: RpcError, message: string): number | undefined {
  if (code >= 400 && code < 600) return code;
  const told =
    /"http_status_code":(\d{3})\b/.exec(JSON.stringify(data ?? null)) ?? /\bstatus:? (\d{3})\b/.exec(message);
  return told ? Number(told[1]) : undefined;
}
