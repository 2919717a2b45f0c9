import { createHash } from 'node:crypto';
import { parseJson } from '../../../base/safe-json.ts';
import type { Oid } from '../../../git/ref-name.ts';
import type { Language } from '../../lang/contract.ts';
import { dropsOf } from '../collect.ts';
import type { FactStore } from '../store/fact-store.ts';
import type { Languages } from '../tree/languages.ts';
import type { WorktreeTree } from '../tree/worktree-tree.ts';
import { SKETCH_VERSION } from '../words/sketch.ts';
import type { Coverage } from './coverage.ts';

/** A git tree of which every file has been read and parsed. */
interface Settled {
  tree: Oid;
  files: number;
  languages: Language[];
  /** Of which extractors, and after how many times that facts were dropped. */
  by: string;
  /** Files without words. */
  skipped: Oid[];
}

interface SettledDeps {
  tree: WorktreeTree;
  store: FactStore;
  coverage: Coverage;
  languages: Languages;
}

const KEY = 'settled-trees';
const MOST_KEPT = 8;

/**
 * Which git trees have all their facts. A worktree that is equal to one has nothing to extract, and to know that nobody has to look at
 * each of its files: a fresh worktree of a large repository is ready at once.
 */
export class SettledTrees {
  readonly #deps: SettledDeps;

  constructor(deps: SettledDeps) {
    this.#deps = deps;
  }

  /** Undefined: what is missing here shows only file by file. */
  get(): Settled | undefined {
    const { tree } = this.#deps;
    const { pristine, files } = tree;
    if (pristine === undefined) return undefined;
    const known = this.#kept().find((each) => each.tree === pristine);
    return known?.files === files.size && known.by === this.#by(known.languages) ? known : undefined;
  }

  /** Called when there is nothing left to extract. */
  note(): void {
    const { tree, store } = this.#deps;
    const { pristine, files } = tree;
    if (pristine === undefined || !store.isFlushed || this.get()) return;
    const languages = this.#wholeLanguages();
    if (!languages) return;
    const { coverage } = this.#deps;
    const oids = new Set([...files.values()].map(({ oid }) => oid));
    const isSkipped = (oid: Oid) => !['ok', 'binary'].includes(coverage.words(oid) ?? '');
    const settled: Settled = {
      tree: pristine,
      files: files.size,
      languages,
      by: this.#by(languages),
      skipped: [...oids].filter(isSkipped),
    };
    const others = this.#kept().filter((each) => each.tree !== pristine);
    const kept = JSON.stringify([...others, settled].slice(-MOST_KEPT));
    store.write(({ registry }) => registry.setMeta(KEY, kept));
  }

  /** Undefined while a file is not read or not parsed. */
  #wholeLanguages(): Language[] | undefined {
    const { tree, coverage, languages } = this.#deps;
    const found = new Set<Language>();
    for (const file of tree.files.values()) {
      const words = coverage.words(file.oid);
      if (words === undefined) return undefined;
      const language = words === 'binary' ? undefined : languages.of(file);
      if (!language) continue;
      if (coverage.structure(file.oid, language, languages.extractor(language)) === undefined) return undefined;
      found.add(language);
    }
    return [...found];
  }

  #kept(): Settled[] {
    const text = this.#deps.store.look(({ registry }) => registry.meta(KEY), undefined);
    const parsed = text === undefined ? undefined : parseJson(text);
    return parsed?.ok && Array.isArray(parsed.value) ? (parsed.value as Settled[]) : [];
  }

  #by(of: readonly Language[]): string {
    const { store, languages } = this.#deps;
    const hash = createHash('sha256').update(`${SKETCH_VERSION} ${dropsOf(store)}`);
    return hash.update(languages.extractors(of)).digest('hex').slice(0, 16);
  }
}
