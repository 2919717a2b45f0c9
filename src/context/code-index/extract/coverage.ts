import type { Oid } from '../../../git/ref-name.ts';
import type { FactStatus, Stage } from '../store/fact.ts';
import type { FactStore } from '../store/fact-store.ts';
import { SKETCH_VERSION } from '../words/sketch.ts';

type Store = Pick<FactStore, 'covered' | 'dataVersion'>;

interface Known {
  extractor: string;
  status: FactStatus;
}

/** Which facts there are, by content. Read from the store once per stage, and again after another server wrote. */
export class Coverage {
  readonly #store: Store;
  readonly #known = new Map<Stage, Map<string, Known>>();
  #version: number;
  /** Moves with what is known. */
  changes = 0;

  constructor(store: Store) {
    this.#store = store;
    this.#version = store.dataVersion();
  }

  /** True if another server has written since. */
  refresh(): boolean {
    const version = this.#store.dataVersion();
    if (version === this.#version) return false;
    this.#version = version;
    this.forget();
    return true;
  }

  /** It is read again when it is asked for. */
  forget(): void {
    this.#known.clear();
    this.changes += 1;
  }

  #of(stage: Stage): Map<string, Known> {
    const known = this.#known.get(stage);
    if (known) return known;
    const read = new Map<string, Known>();
    for (const { oid, lang, extractor, status } of this.#store.covered(stage)) {
      read.set(lang === '' ? oid : `${lang} ${oid}`, { extractor, status });
    }
    this.#known.set(stage, read);
    return read;
  }

  words(oid: Oid): FactStatus | undefined {
    const known = this.#of(1).get(oid);
    return known?.extractor === SKETCH_VERSION ? known.status : undefined;
  }

  structure(oid: Oid, lang: string, extractor: string): FactStatus | undefined {
    const known = this.#of(2).get(`${lang} ${oid}`);
    return known?.extractor === extractor ? known.status : undefined;
  }

  /** Parsed, but not wholly. */
  isCut(oid: Oid, lang: string | undefined): boolean {
    const status = lang === undefined ? 'ok' : this.#of(2).get(`${lang} ${oid}`)?.status;
    return status !== undefined && status !== 'ok';
  }

  add({ oid, lang, stage, extractor, status }: { oid: Oid; lang: string; stage: Stage } & Known): void {
    this.#of(stage).set(lang === '' ? oid : `${lang} ${oid}`, { extractor, status });
    this.changes += 1;
  }
}
