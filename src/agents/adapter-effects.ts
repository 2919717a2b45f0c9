import type { ErrorCode } from '../protocol/error-table.ts';
import type { EventOf } from '../protocol/events.ts';
import type { Effect } from './adapter.ts';

type Emitted = Extract<Effect, { do: 'emit' }>['event'];

export const emit = (event: Emitted): Effect => ({ do: 'emit', event });

export const progress = (payload: EventOf<'progress'>['payload']): Effect => emit({ type: 'progress', payload });

export const warning = (message: string): Effect => progress({ kind: 'warning', message });

/** One line could not be used; the job goes on. */
export function lineError(code: ErrorCode, message: string): Effect {
  return emit({ type: 'error', payload: { code, scope: 'line', fatal: false, retryable: false, message } });
}

/** What an answer of the model counts for when the agent tells its tokens only at the end: prompt and tools come to this. */
export const TOKENS_PER_ANSWER = 4_000;

/** Counts at once and until the agent tells a sum. */
export function usageAhead(tokens: { input: number; output: number; cacheRead?: number; cacheWrite?: number }): Effect {
  const all = { cacheRead: 0, cacheWrite: 0, reasoning: 0, ...tokens, scope: 'ahead' } as const;
  return { do: 'usage', report: { tokens: all, partial: false } };
}

export const badLine = (message: string): Effect => lineError('bad_line', message);
