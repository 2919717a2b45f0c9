import { type ReadonlySignal, useSignal } from '@preact/signals';

interface Acting {
  /** Whether it was done; what was refused stays in `refused` until the next try. */
  act: (ask: () => Promise<unknown>) => Promise<boolean>;
  refused: ReadonlySignal<unknown>;
  isBusy: ReadonlySignal<boolean>;
}

/** One thing is asked of the daemon at a time. */
export function useAct(): Acting {
  const refused = useSignal<unknown>(undefined);
  const isBusy = useSignal(false);
  const act = async (ask: () => Promise<unknown>) => {
    isBusy.value = true;
    try {
      await ask();
      refused.value = undefined;
      return true;
    } catch (error) {
      refused.value = error;
      return false;
    } finally {
      isBusy.value = false;
    }
  };
  return { act, refused, isBusy };
}
