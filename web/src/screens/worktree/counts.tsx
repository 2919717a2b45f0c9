import type { FileDiff } from './patch.ts';

/** How many lines of a file came and went. */
export function Counts({ file: { added, removed } }: { file: FileDiff }) {
  return (
    <span class="counts number">
      <span class="tone-good">+{added}</span> <span class="tone-bad">−{removed}</span>
    </span>
  );
}
