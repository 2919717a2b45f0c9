import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, extname } from 'node:path';
import type { Language } from '../../lang/contract.ts';
import { ExtractorVersions, namingFile } from '../../lang/extractor-versions.ts';
import { languageOf } from '../../lang/language-of.ts';
import type { FactStore } from '../store/fact-store.ts';
import { stampText } from './tracked.ts';
import type { TreeFile, WorktreeTree } from './worktree-tree.ts';

const HEAD_BYTES = 8 * 1024;
const NO_HINT = { head: new Uint8Array(), siblingExtensions: new Set<string>() };

/** Whether there is anything to parse, judged by file names. */
export function isAnyCode(paths: Iterable<string>): boolean {
  for (const path of paths) if (languageOf(path, NO_HINT) !== undefined) return true;
  return false;
}

/** The language of each file. Only headers and files without an extension are read for it, once per content. */
export class Languages {
  readonly #tree: WorktreeTree;
  readonly #digest: (file: string) => Uint8Array;
  readonly #versions: ExtractorVersions;
  readonly #known = new Map<string, Language | undefined>();
  #siblings: { version: number; byFolder: Map<string, Set<string>> } | undefined;

  constructor(tree: WorktreeTree, store: FactStore) {
    this.#tree = tree;
    this.#digest = keptDigests(store);
    this.#versions = new ExtractorVersions(this.#digest);
  }

  of({ path, oid }: Pick<TreeFile, 'path' | 'oid'>): Language | undefined {
    const extension = extname(path);
    if (extension !== '' && extension.toLowerCase() !== '.h') return languageOf(path, NO_HINT);
    const siblingExtensions = extension === '' ? NO_HINT.siblingExtensions : this.#siblingsOf(dirname(path));
    const key = `${path} ${oid}`;
    if (this.#known.has(key)) return this.#known.get(key);
    const head = this.#tree.read(path)?.bytes.subarray(0, HEAD_BYTES);
    const language = head && languageOf(path, { head, siblingExtensions });
    this.#known.set(key, language);
    return language;
  }

  extractor(language: Language): string {
    return this.#versions.extractorVersion(language);
  }

  /** An installation that reads these languages in another way, or finds others, gives another text. */
  extractors(languages: readonly Language[]): string {
    const naming = Buffer.from(this.#digest(namingFile)).toString('hex');
    return [naming, ...languages.map((language) => this.extractor(language))].join(' ');
  }

  #siblingsOf(folder: string): ReadonlySet<string> {
    if (this.#siblings?.version !== this.#tree.version) {
      const byFolder = new Map<string, Set<string>>();
      for (const path of this.#tree.files.keys()) {
        const extension = extname(path).slice(1).toLowerCase();
        const extensions = byFolder.get(dirname(path)) ?? new Set();
        byFolder.set(dirname(path), extensions.add(extension));
      }
      this.#siblings = { version: this.#tree.version, byFolder };
      this.#known.clear();
    }
    return this.#siblings.byFolder.get(folder) ?? NO_HINT.siblingExtensions;
  }
}

/** Digests of files that only an installation changes, kept by their stamps: reading the grammars would slow every warm start. */
export function keptDigests(store: FactStore): (file: string) => Uint8Array {
  const known = new Map<string, Uint8Array>();
  return (file) => {
    const found = known.get(file) ?? keptOrMade(store, file);
    known.set(file, found);
    return found;
  };
}

function keptOrMade(store: FactStore, file: string): Uint8Array {
  const key = `digest ${file}`;
  const stamp = stampText(file);
  const [keptStamp, kept] = store.look(({ registry }) => registry.meta(key), undefined)?.split('=') ?? [];
  if (keptStamp === stamp && kept !== undefined) return Buffer.from(kept, 'hex');
  const digest = createHash('sha256').update(readFileSync(file)).digest();
  store.write(({ registry }) => registry.setMeta(key, `${stamp}=${digest.toString('hex')}`));
  return digest;
}
