import { type Difference, differences } from '../../protocol/differences.ts';
import type { RunView } from '../../protocol/workflow.ts';

/** Followers come for the next state within moments; one that comes later is told all of it. */
const VIEWS_OF_A_RUN = 4;
const MOST_RUNS = 16;

interface Since {
  from: number;
  seq: number;
  differences: Difference[];
}

/** Views that followers know, so that they are told only what is different. One of a `seq` is always the same. */
export class ToldViews {
  readonly #byRun = new Map<string, readonly RunView[]>();

  since(runId: string, after: number, view: RunView | undefined): Since {
    if (!view) return { from: 0, seq: 0, differences: [] };
    const known = this.#byRun.get(runId) ?? [];
    const before = view.seq === after ? view : known.find(({ seq }) => seq === after);
    this.#keep(runId, [view, ...known.filter(({ seq }) => seq !== view.seq)].slice(0, VIEWS_OF_A_RUN));
    return { from: before ? after : 0, seq: view.seq, differences: differences(before, view) };
  }

  #keep(runId: string, views: readonly RunView[]): void {
    this.#byRun.delete(runId);
    this.#byRun.set(runId, views);
    const [longestAgo] = this.#byRun.keys();
    if (this.#byRun.size > MOST_RUNS && longestAgo !== undefined) this.#byRun.delete(longestAgo);
  }
}
