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

export const badLine = (message: string): Effect => lineError('bad_line', message);
