import type { Oid } from '../../../git/ref-name.ts';
import type { TreeFile, WorktreeTree } from './worktree-tree.ts';

/** The map at one moment, in the orders that questions need. A later sweep that finds a change makes another view. */
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

  /** The files of this worktree with this content; other worktrees may have more. */
  withBlob(oid: Oid): readonly TreeFile[] {
    this.#byOid ??= Map.groupBy(this.files.values(), (file) => file.oid);
    return this.#byOid.get(oid) ?? [];
  }
}
