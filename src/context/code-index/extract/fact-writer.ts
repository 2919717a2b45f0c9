import type { Fact } from '../store/fact.ts';

/** C-023: so many facts in one transaction. */
const FLUSH_FACTS = 200;
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
    if (this.#facts.length >= FLUSH_FACTS || performance.now() - this.#since > FLUSH_MS) this.flush();
  }

  flush(): void {
    const facts = this.#facts;
    this.#facts = [];
    this.#since = performance.now();
    if (facts.length > 0) this.#write(facts);
  }
}
