import type { Oid } from '../../../git/ref-name.ts';
import type { Language } from '../../lang/contract.ts';

/** Content of which no structure is known yet, and one file that has it. */
export interface Missing {
  oid: Oid;
  language: Language;
  isLocal: boolean;
  path: string;
  bytes: number;
}

/** What waits for its words, by content: the same may be of two languages. */
export class Unread {
  readonly #byOid = new Map<Oid, Missing[]>();
  count = 0;

  add(missing: Missing): void {
    const same = this.#byOid.get(missing.oid) ?? [];
    if (same.some(({ language }) => language === missing.language)) return;
    this.#byOid.set(missing.oid, [...same, missing]);
    this.count += 1;
  }

  take(oid: Oid, mostBytes = Number.POSITIVE_INFINITY): readonly Missing[] {
    const taken = this.#byOid.get(oid) ?? [];
    if (taken.some(({ bytes }) => bytes > mostBytes)) return [];
    this.#byOid.delete(oid);
    this.count -= taken.length;
    return taken;
  }

  takeAll(): readonly Missing[] {
    return [...this.#byOid.keys()].flatMap((oid) => this.take(oid));
  }
}
