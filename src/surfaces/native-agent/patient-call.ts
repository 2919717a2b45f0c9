import type { Clock } from '../../base/clock.ts';
import { type ErrorCode, errorTable } from '../../protocol/error-table.ts';
import { ReefError, toReefError } from '../../protocol/errors.ts';
import type { OperationInput, OperationName, OperationOutput } from '../../protocol/operations.ts';
import type { Client } from '../client/client.ts';
import { DaemonError } from '../client/request.ts';

/** A killed daemon is started by a person's next command, which may take a while. */
const OUTAGE_MS = 120_000;
const RETRY_MS = 200;

export type Call = <N extends OperationName>(
  operation: N,
  input: OperationInput<N>,
  signal?: AbortSignal,
) => Promise<OperationOutput<N>>;

/** Retries while the daemon is away: its jobs go on without it. */
export function patient(client: Client, clock: Clock): Call {
  return async (operation, input, signal) => {
    const deadline = clock.monotonicMs() + OUTAGE_MS;
    for (;;) {
      try {
        return await client.call(operation, input, signal ? { signal } : {});
      } catch (error) {
        signal?.throwIfAborted();
        const known = toKnown(error);
        if (known.code !== 'daemon_unavailable' || clock.monotonicMs() > deadline) throw known;
        await clock.sleep(RETRY_MS, signal);
      }
    }
  };
}

function toKnown(error: unknown): ReefError {
  if (!(error instanceof DaemonError)) return toReefError(error);
  const { code, message } = error.body.error;
  return new ReefError(Object.hasOwn(errorTable, code) ? (code as ErrorCode) : 'internal', message, { cause: error });
}
