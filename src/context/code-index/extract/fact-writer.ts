import type { Fact } from '../store/fact.ts';
import { MOST_WRITTEN } from '../store/fact-store.ts';

const FLUSH_MS = 500;

/** Gathers facts into transactions of a bounded size. */
export class FactWriter {
  readonly #write: (facts: readonly Fact[]) => void;
  #facts: Fact[] = [];
  #since = performance.now();

  constructor(write: (facts: readonly Fact[]) => void) {
    this.#write = write;
  }

  add(fact: Fact): void {
    this.#facts.push(fact);
    if (this.#facts.length >= MOST_WRITTEN || performance.now() - this.#since > FLUSH_MS) this.flush();
  }

  flush(): void {
    const facts = this.#facts;
    this.#facts = [];
    this.#since = performance.now();
    if (facts.length > 0) this.#write(facts);
  }
}
