import type { Git } from '../../../git/git-command.ts';
import { nextField, nulFields } from '../../../git/nul-fields.ts';
import type { FactStore } from '../store/fact-store.ts';
import type { OverlayEntry, WorktreeTree } from './worktree-tree.ts';

const EVERY_MS = 60_000;
const MAX_BYTES = 192 * 1024 * 1024;

export interface RemembranceDeps {
  git: Git;
  tree: WorktreeTree;
  store: FactStore;
}

/** Registers the worktree in the store with what its commit does not have: dirty and untracked files, and staged blobs. */
export class Remembrance {
  readonly #deps: RemembranceDeps;
  #kept = { version: -1, at: 0 };

  constructor(deps: RemembranceDeps) {
    this.#deps = deps;
  }

  /** Called when there is nothing else to do. Writes at most once a minute while files change. */
  async keep(): Promise<void> {
    const { tree, store } = this.#deps;
    const { version } = tree;
    if (!tree.isRead || version === this.#kept.version) return;
    if (this.#kept.version !== -1 && Date.now() - this.#kept.at < EVERY_MS) return;
    this.#kept = { version, at: Date.now() };
    const head = await tree.head();
    const overlay = JSON.stringify(tree.overlay());
    const staged = (await this.#staged(head)).join(' ');
    const row = { path: tree.checkout.toplevel, head, overlay, staged };
    store.write(({ registry }) => {
      registry.register(row, tree.sourceBytes);
      if (tree.version === version) registry.forgetFresh(row.path); // else some may be newer than the row
    });
  }

  /** Where index and commit differ. In a clean checkout git answers this at once. */
  async #staged(head: string): Promise<string[]> {
    const { checkout, files } = this.#deps.tree;
    if (head === '') return [...files.values()].flatMap(({ oid, isLocal }) => (isLocal ? [] : [oid]));
    const args = ['diff-index', '--cached', '--raw', '--no-abbrev', '--no-renames', '-z', '--end-of-options', head];
    const { stdout } = await this.#deps.git.call(checkout, args, { maxBytes: MAX_BYTES });
    const fields = nulFields(stdout);
    const staged: string[] = [];
    for (const field of fields) {
      const [, , , oid = ''] = field.toString('latin1').split(' ');
      if (files.get(nextField(fields))?.oid === oid) staged.push(oid);
    }
    return staged;
  }
}

/** What an earlier server kept. Entries of another shape are ignored, and their files are read again. */
export function readOverlay(text: string | undefined): OverlayEntry[] {
  if (text === undefined) return [];
  try {
    const parsed: unknown = JSON.parse(text);
    return Array.isArray(parsed) ? parsed.filter(isEntry) : [];
  } catch {
    return [];
  }
}

function isEntry(value: unknown): value is OverlayEntry {
  const { path, oid, stamp, checkedAt } = (value ?? {}) as Partial<OverlayEntry>;
  const isStamp = typeof stamp === 'object' && stamp !== null && typeof stamp.ctimeMs === 'number';
  return typeof path === 'string' && /^[0-9a-f]{40,64}$/.test(`${oid}`) && isStamp && typeof checkedAt === 'number';
}
