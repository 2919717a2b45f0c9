import { signal } from '@preact/signals';

/** The time to the second, for everything that shows an age. It stands still while nobody looks. */
export const now = signal(Date.now());

export function startTicking(): void {
  setInterval(() => {
    if (!document.hidden) now.value = Date.now();
  }, 1_000);
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) now.value = Date.now();
  });
}
