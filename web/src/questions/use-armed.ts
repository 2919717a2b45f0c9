import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

/** Somebody who clicks in the moment when a question appears or moves has not read it. */
const INERT_MS = 500;

/** Whether what is shown has been the same for a moment. */
export function useArmed(shown: string): boolean {
  const armed = useSignal<string | undefined>(undefined);
  useEffect(() => {
    const timer = setTimeout(() => {
      armed.value = shown;
    }, INERT_MS);
    return () => clearTimeout(timer);
  }, [shown, armed]);
  return armed.value === shown;
}
