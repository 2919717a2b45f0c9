import { announced } from '../store/announce.ts';

/** Outside of everything that scrolls by: only questions and ends are spoken. */
export function LiveRegion() {
  return (
    <p class="unseen" aria-live="polite">
      {announced}
    </p>
  );
}
