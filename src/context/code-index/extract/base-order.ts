import { basename } from 'node:path';
import type { Oid } from '../../../git/ref-name.ts';
import type { WordIndex } from '../store/word-index.ts';
import type { WorktreeTree } from '../tree/worktree-tree.ts';
import { wordHashes } from '../words/sketch.ts';

/** Before there is structure: a file matters as many files as hold its base name in their words. */
export class BaseOrder {
  readonly #tree: WorktreeTree;
  readonly #words: WordIndex;
  #ranks: { version: number; byOid: Map<Oid, number> } | undefined;

  constructor(tree: WorktreeTree, words: WordIndex) {
    this.#tree = tree;
    this.#words = words;
  }

  rank(oid: Oid): number {
    if (this.#ranks?.version !== this.#tree.version)
      this.#ranks = { version: this.#tree.version, byOid: this.#count() };
    return this.#ranks.byOid.get(oid) ?? 0;
  }

  #count(): Map<Oid, number> {
    const hashes = new Map<string, number | undefined>(); // `index` and the like are many
    const oids = new Set<Oid>();
    const named = new Map<Oid, number>();
    for (const { path, oid } of this.#tree.files.values()) {
      const name = basename(path).replace(/\..*$/, '');
      if (!hashes.has(name)) hashes.set(name, wordHashes(name)[0]);
      const hash = hashes.get(name);
      if (hash !== undefined) named.set(oid, hash);
      oids.add(oid);
    }
    const holders = this.#words.countHolders(named.values(), oids);
    return new Map([...named].map(([oid, hash]) => [oid, holders.get(hash) ?? 0]));
  }
}
