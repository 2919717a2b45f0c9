import { systemClock } from '../../../base/clock.ts';
import type { OperationInput, OperationOutput } from '../../../protocol/operations.ts';
import type { Client } from '../../client/client.ts';

const LONGEST_CALL_MS = 45_000;

interface Wanted extends Pick<OperationInput<'wait'>, 'ids' | 'until'> {
  /** Absent: for as long as it takes. */
  timeoutMs?: number | undefined;
}

/** A wait of any length, made of calls that each stay under the limit of a call (U-13). */
export async function waitFor(
  client: Client,
  { timeoutMs = Number.POSITIVE_INFINITY, ...query }: Wanted,
): Promise<OperationOutput<'wait'>> {
  const deadline = systemClock.monotonicMs() + timeoutMs;
  for (;;) {
    const left = Math.max(0, deadline - systemClock.monotonicMs());
    const result = await client.call('wait', { ...query, timeoutMs: Math.min(LONGEST_CALL_MS, Math.round(left)) });
    if (result.met || left <= LONGEST_CALL_MS) return result;
  }
}
