import { fnvOfText } from '../../../base/fnv.ts';
import type { FactStore } from './fact-store.ts';
import type { Defined } from './fact-table.ts';

export type DefinitionStore = Pick<FactStore, 'defined' | 'definedInMemory' | 'generation'>;

/** Hash and fact number share one number of 53 bits, so that all pairs are sorted at once. */
const FACTS = 2 ** 21;
const MOST_UNSORTED = 4_096;

/** Reads what was added to a store since it last looked. */
export class NewDefinitions {
  readonly #store: DefinitionStore;
  readonly #forget: () => void;
  #generation = -1;
  #last = 0;

  /** `forget` is called when another store has taken the place of the one read so far. */
  constructor(store: DefinitionStore, forget: () => void) {
    this.#store = store;
    this.#forget = forget;
  }

  *read(): Generator<Defined> {
    const { generation } = this.#store;
    if (generation !== this.#generation) this.reset();
    this.#generation = generation;
    for (const defined of this.#store.defined(this.#last)) {
      this.#last = defined.id;
      yield defined;
    }
  }

  reset(): void {
    this.#forget();
    this.#last = 0;
  }
}

type Definer = Pick<Defined, 'oid' | 'lang'>;

/** Which contents of all worktrees define a name. The first question reads the store, each later one what was added since. */
export class NameIndex {
  readonly #store: DefinitionStore;
  readonly #new: NewDefinitions;
  #facts: Definer[] = [];
  #sorted = new Float64Array();
  #unsorted: number[] = [];

  constructor(store: DefinitionStore) {
    this.#store = store;
    this.#new = new NewDefinitions(store, () => {
      this.#facts = [];
      this.#sorted = new Float64Array();
      this.#unsorted = [];
    });
  }

  /** Drops the names; the next question reads them again. */
  unload(): void {
    this.#new.reset();
  }

  /** Looked up by hash: a few of the contents may define another name instead. */
  definers(name: string): Definer[] {
    for (const defined of this.#new.read()) this.#add(defined);
    if (this.#unsorted.length > MOST_UNSORTED) this.#sort();
    const from = fnvOfText(name) * FACTS;
    const found: number[] = [];
    for (let at = firstFrom(this.#sorted, from); (this.#sorted[at] as number) < from + FACTS; at++)
      found.push(this.#sorted[at] as number);
    found.push(...this.#unsorted.filter((pair) => pair >= from && pair < from + FACTS));
    const kept = [...this.#store.definedInMemory()].filter(({ names }) => names.includes(name));
    return [...found.map((pair) => this.#facts[pair - from] as Definer), ...kept];
  }

  #add({ oid, lang, names }: Defined): void {
    const number = this.#facts.push({ oid, lang }) - 1;
    for (const name of names) this.#unsorted.push(fnvOfText(name) * FACTS + number);
  }

  #sort(): void {
    const all = new Float64Array(this.#sorted.length + this.#unsorted.length);
    all.set(this.#sorted);
    all.set(this.#unsorted, this.#sorted.length);
    this.#sorted = all.sort();
    this.#unsorted = [];
  }
}

function firstFrom(sorted: Float64Array, from: number): number {
  let low = 0;
  for (let high = sorted.length; low < high; ) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] as number) < from) low = middle + 1;
    else high = middle;
  }
  return low;
}
