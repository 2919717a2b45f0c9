import type { Oid } from '../../../git/ref-name.ts';
import type { HitClass, Language } from '../../lang/contract.ts';
import type { FactStore } from '../store/fact-store.ts';
import type { Room } from '../tree/read-file.ts';
import type { Hits } from '../words/hits.ts';

export interface Question {
  oid: Oid;
  language: Language;
  name: string;
  /** Called when its turn comes, so that thousands of files are not held at once. Undefined: the file is gone. */
  source: (room: Room) => Buffer | undefined;
  hits: Hits;
}

/** `skipped` is kept too: asking again would cost the same again. */
export type Classes = readonly HitClass[] | 'skipped';

interface Packed {
  /** The dozen different classes. */
  shapes: HitClass[];
  /** The shape of each hit. */
  hits: number[];
}

/** Classes in the store, by content and name: a server that starts again does not parse for them. */
export class KeptClasses {
  readonly #store: FactStore;
  readonly #extractorOf: (language: Language) => string;

  constructor(store: FactStore, extractorOf: (language: Language) => string) {
    this.#store = store;
    this.#extractorOf = extractorOf;
  }

  load({ oid, language, name, hits }: Question): Classes | undefined {
    const key = { oid, lang: language, name, extractor: this.#extractorOf(language) };
    const data = this.#store.look(({ facts }) => facts.classes(key), undefined);
    if (data === undefined) return undefined;
    const packed = JSON.parse(data) as Packed | 'skipped';
    if (packed === 'skipped') return packed;
    // Another Reef may have found other places.
    return packed.hits.length === hits.count ? packed.hits.map((at) => packed.shapes[at] as HitClass) : undefined;
  }

  save(found: readonly { question: Question; classes: Classes }[]): void {
    if (found.length === 0) return;
    this.#store.write(({ facts }) => {
      for (const { question, classes } of found) {
        const { oid, language, name } = question;
        const key = { oid, lang: language, name, extractor: this.#extractorOf(language) };
        facts.putClasses(key, JSON.stringify(classes === 'skipped' ? classes : packed(classes)));
      }
    });
  }
}

function packed(classes: readonly HitClass[]): Packed {
  const numbers = new Map<HitClass, number>();
  const hits = classes.map((each) => {
    const number = numbers.get(each) ?? numbers.size;
    numbers.set(each, number);
    return number;
  });
  return { shapes: [...numbers.keys()], hits };
}
