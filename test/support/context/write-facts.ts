import type { FactStore } from '../../../src/context/code-index/store/fact-store.ts';
import type { Fact } from '../../../src/context/code-index/store/fact-table.ts';

/** Puts them, and has them on disk if the store can be written. */
export function writeFacts(store: FactStore, facts: readonly Fact[]): void {
  for (const fact of facts) store.put(fact);
  for (const { stage } of facts) while (store.flush(stage));
}
