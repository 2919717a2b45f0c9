import type { BlockDef } from '../../protocol/workflow.ts';
import type { Place } from './outcomes.ts';

const DEFAULT_VISITS = 10;

/** Counts visits against their limits, and what a person granted beyond. */
export class VisitLimits {
  readonly #counts: Map<string, number>;
  readonly #granted = new Map<string, number>();
  readonly #budgets = new Map<string, number>();
  readonly #blockOf: (id: string) => BlockDef;

  constructor(counts: Record<string, number>, blockOf: (id: string) => BlockDef) {
    this.#counts = new Map(Object.entries(counts));
    this.#blockOf = blockOf;
  }

  countOf(block: string): number {
    return this.#counts.get(block) ?? 0;
  }

  counts(): Record<string, number> {
    return Object.fromEntries(this.#counts);
  }

  countsSince(before: Record<string, number>): Record<string, number> {
    const since = [...this.#counts].map(([block, count]) => [block, count - (before[block] ?? 0)] as const);
    return Object.fromEntries(since.filter(([, count]) => count > 0));
  }

  count({ block, visit }: Place): void {
    this.#counts.set(block, visit);
  }

  add(visits: Record<string, number>): void {
    for (const [block, count] of Object.entries(visits)) this.#counts.set(block, this.countOf(block) + count);
  }

  isSpent(block: string): boolean {
    const { max_visits = DEFAULT_VISITS } = this.#blockOf(block);
    return this.countOf(block) >= max_visits + (this.#granted.get(block) ?? 0);
  }

  grantVisit(block: string): void {
    if (!this.isSpent(block)) return;
    const { max_visits = DEFAULT_VISITS } = this.#blockOf(block);
    this.#granted.set(block, this.countOf(block) + 1 - max_visits);
  }

  /** Raises the budget of a block, or of the run under the empty name. */
  grantBudget(of: string): void {
    this.#budgets.set(of, (this.#budgets.get(of) ?? 0) + 1);
  }

  grantsOf(block: string): { run: number; block: number } {
    return { run: this.#budgets.get('') ?? 0, block: this.#budgets.get(block) ?? 0 };
  }
}
