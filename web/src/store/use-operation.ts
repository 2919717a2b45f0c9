import { type ReadonlySignal, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { OperationInput, OperationName, OperationOutput } from '../../../src/protocol/operations.ts';
import { type Change, connection } from '../connection/connection.ts';
import { op } from '../connection/op.ts';
import { refresher } from './refresher.ts';

export interface Asked<T> {
  /** The last answer; it stays while the next one is on its way. */
  data: ReadonlySignal<T | undefined>;
  /** Why there is no newer answer. */
  error: ReadonlySignal<unknown>;
  again: () => void;
}

const LOOK_MS = 200;

/** An operation that reads, asked when the screen opens, when we are connected again, and when one of `changes` is told. */
export function useOperation<N extends OperationName>(
  name: N,
  input: OperationInput<N> | undefined,
  isConcerned: (change: Change) => boolean = () => false,
): Asked<OperationOutput<N>> {
  const data = useSignal<OperationOutput<N> | undefined>(undefined);
  const error = useSignal<unknown>(undefined);
  const key = JSON.stringify(input);
  const looks = useSignal<() => void>(() => {});
  useEffect(() => {
    if (input === undefined) return;
    const aborted = new AbortController();
    const look = refresher(async () => {
      try {
        data.value = await op(name, input, aborted.signal);
        error.value = undefined;
      } catch (refused) {
        if (!aborted.signal.aborted) error.value = refused;
      }
    }, LOOK_MS);
    looks.value = look.now;
    const stops = [connection.onLive(look.now), connection.onChange((change) => isConcerned(change) && look.soon())];
    return () => {
      aborted.abort();
      for (const stop of stops) stop();
    };
  }, [name, key]);
  return { data, error, again: () => looks.peek()() };
}
