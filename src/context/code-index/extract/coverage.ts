import type { Oid } from '../../../git/ref-name.ts';
import type { FactStore } from '../store/fact-store.ts';
import type { Fact, FactKey, FactStatus, Stage } from '../store/fact-table.ts';
import { SKETCH_VERSION } from '../words/sketch.ts';

type Known = Pick<Fact, 'extractor' | 'status'>;

/** Which contents have facts. Read from the store once per stage, and again after another server wrote. */
export class Coverage {
  readonly #store: FactStore;
  readonly #known = new Map<Stage, Map<string, Map<Oid, Known>>>();
  #version: number;
  /** Grows whenever what is known changes. */
  changes = 0;

  constructor(store: FactStore) {
    this.#store = store;
    this.#version = store.dataVersion();
  }

  /** Returns whether another server has written since the last call. */
  refresh(): boolean {
    const version = this.#store.dataVersion();
    if (version === this.#version) return false;
    this.#version = version;
    this.forget();
    return true;
  }

  forget(): void {
    this.#known.clear();
    this.changes += 1;
  }

  #of(stage: Stage, lang: string): Map<Oid, Known> {
    const languages = this.#known.get(stage) ?? this.#read(stage);
    const known = languages.get(lang) ?? new Map<Oid, Known>();
    languages.set(lang, known);
    return known;
  }

  #read(stage: Stage): Map<string, Map<Oid, Known>> {
    const languages = new Map<string, Map<Oid, Known>>();
    this.#known.set(stage, languages);
    for (const { oids, lang, extractor, status } of this.#store.covered(stage)) {
      const known = this.#of(stage, lang);
      const same = { extractor, status };
      for (const oid of oids) known.set(oid, same);
    }
    return languages;
  }

  words(oid: Oid): FactStatus | undefined {
    const known = this.#of(1, '').get(oid);
    return known?.extractor === SKETCH_VERSION ? known.status : undefined;
  }

  structure(oid: Oid, lang: string, extractor: string): FactStatus | undefined {
    const known = this.#of(2, lang).get(oid);
    return known?.extractor === extractor ? known.status : undefined;
  }

  /** Whether it was not parsed, or only in part. */
  isCut(oid: Oid, lang: string | undefined): boolean {
    const status = lang === undefined ? 'ok' : this.#of(2, lang).get(oid)?.status;
    return status !== undefined && status !== 'ok';
  }

  add({ oid, lang, stage, extractor, status }: FactKey & Known): void {
    this.#of(stage, lang).set(oid, { extractor, status });
    this.changes += 1;
  }
}
