import { basename } from 'node:path';
import type { Oid } from '../../../git/ref-name.ts';
import type { Language } from '../../lang/contract.ts';
import type { WordIndex } from '../store/word-index.ts';
import type { WorktreeTree } from '../tree/worktree-tree.ts';
import { wordHashes } from '../words/sketch.ts';

/** For each thread, so that it has work while the main thread writes a batch, makes words or sorts. */
const MOST_UNDER_WAY = { files: 200, bytes: 1024 * 1024 };

/** What the parser has not answered yet. */
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

/** Content without a structure, and one file that has it. */
export interface Missing {
  oid: Oid;
  language: Language;
  isLocal: boolean;
  path: string;
  bytes: number;
}

/** What waits for its words, by content: two languages may share one. */
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

/** Ranks a file before there is structure: by the number of files whose words include its base name. */
export function baseOrder(tree: WorktreeTree, words: WordIndex): (oid: Oid) => number {
  let ranks: { version: number; byOid: Map<Oid, number> } | undefined;
  return (oid) => {
    if (ranks?.version !== tree.version) ranks = { version: tree.version, byOid: countUsers(tree, words) };
    return ranks.byOid.get(oid) ?? 0;
  };
}

function countUsers(tree: WorktreeTree, words: WordIndex): Map<Oid, number> {
  const hashes = new Map<string, number | undefined>(); // many files are called `index` or the like
  const oids = new Set<Oid>();
  const named = new Map<Oid, number>();
  for (const { path, oid } of tree.files.values()) {
    const name = basename(path).split('.', 1)[0] ?? '';
    if (!hashes.has(name)) hashes.set(name, wordHashes(name)[0]);
    const hash = hashes.get(name);
    if (hash !== undefined) named.set(oid, hash);
    oids.add(oid);
  }
  const holders = words.countHolders(named.values(), oids);
  return new Map([...named].map(([oid, hash]) => [oid, holders.get(hash) ?? 0]));
}
