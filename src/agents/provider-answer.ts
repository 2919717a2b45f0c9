import { parseJson } from '../base/safe-json.ts';

/** Providers answer a failed request with `{"error":{"message":"…"}}`, and some agents pass that on as it is. */
export function providerMessage(text: string): string {
  const parsed = parseJson(text);
  const body = parsed.ok ? (parsed.value as { error?: { message?: unknown } | null } | null) : undefined;
  const message = body?.error?.message;
  return typeof message === 'string' && message !== '' ? message : text;
}

/** When a limit is lifted, in seconds since 1970. Undefined for a moment that no calendar has. */
export function resumeTime(seconds: number | null | undefined): string | undefined {
  const date = new Date((seconds ?? Number.NaN) * 1000);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}
