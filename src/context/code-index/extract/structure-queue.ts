import type { Oid } from '../../../git/ref-name.ts';
import type { Language } from '../../lang/contract.ts';

/** For each thread: it goes on while this one writes a batch, makes words, or works out the order. */
const MOST_UNDER_WAY = { files: 200, bytes: 1024 * 1024 };

/** What was handed to the parser and is not answered yet. */
export class UnderWay {
  readonly #most: { files: number; bytes: number };
  readonly #files = new Set<Promise<unknown>>();
  #bytes = 0;
  #freed = Promise.withResolvers<void>();

  constructor(workers: number) {
    this.#most = { files: MOST_UNDER_WAY.files * workers, bytes: MOST_UNDER_WAY.bytes * workers };
  }

  add(work: Promise<unknown>, bytes: number): void {
    const file = work.finally(() => {
      this.#files.delete(file);
      this.#bytes -= bytes;
      this.#freed.resolve();
    });
    this.#files.add(file);
    this.#bytes += bytes;
  }

  async room(): Promise<void> {
    while (this.#files.size >= this.#most.files || this.#bytes >= this.#most.bytes) {
      this.#freed = Promise.withResolvers();
      await this.#freed.promise;
    }
  }

  async end(): Promise<void> {
    await Promise.allSettled(this.#files);
  }
}

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
