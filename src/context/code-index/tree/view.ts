import type { Oid } from '../../../git/ref-name.ts';
import type { TreeFile, WorktreeTree } from './worktree-tree.ts';

/** The map at one moment, in the orders questions need. What a later sweep finds makes another view. */
export class View {
  readonly version: number;
  readonly files: ReadonlyMap<string, TreeFile>;
  readonly localCount: number;
  head = '';
  beganAt = new Date();
  #paths: string[] | undefined;
  #byOid: Map<Oid, TreeFile[]> | undefined;
  #oids: Set<Oid> | undefined;
  #meanSize: number | undefined;

  constructor(tree: WorktreeTree) {
    this.version = tree.version;
    this.files = new Map(tree.files);
    this.localCount = tree.localCount;
  }

  get paths(): readonly string[] {
    this.#paths ??= [...this.files.keys()].sort();
    return this.#paths;
  }

  get oids(): ReadonlySet<Oid> {
    this.#oids ??= new Set([...this.files.values()].map(({ oid }) => oid));
    return this.#oids;
  }

  /** In bytes. */
  get meanSize(): number {
    this.#meanSize ??=
      [...this.files.values()].reduce((sum, { stamp }) => sum + stamp.size, 0) / Math.max(1, this.files.size);
    return this.#meanSize;
  }

  /** The files that have this content here: none, if only other worktrees do. */
  withBlob(oid: Oid): readonly TreeFile[] {
    if (!this.#byOid) {
      this.#byOid = new Map();
      for (const file of this.files.values()) {
        const same = this.#byOid.get(file.oid);
        if (same) same.push(file);
        else this.#byOid.set(file.oid, [file]);
      }
    }
    return this.#byOid.get(oid) ?? [];
  }
}
