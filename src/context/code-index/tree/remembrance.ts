import type { Git } from '../../../git/git-command.ts';
import { nextField, nulFields } from '../../../git/nul-fields.ts';
import type { FactStore } from '../store/fact-store.ts';
import type { OverlayEntry, WorktreeTree } from './worktree-tree.ts';

const EVERY_MS = 60_000;
const MAX_BYTES = 192 * 1024 * 1024;

/** Registers the worktree in the store with what git cannot tell of it: dirty and untracked files, and staged blobs. */
export class Remembrance {
  readonly #git: Git;
  readonly #tree: WorktreeTree;
  readonly #store: FactStore;
  #kept = { version: -1, at: 0 };

  constructor({ git, tree, store }: { git: Git; tree: WorktreeTree; store: FactStore }) {
    this.#git = git;
    this.#tree = tree;
    this.#store = store;
  }

  /** Called when there is nothing else to do; at most once a minute while files change. */
  async keep(): Promise<void> {
    const { version } = this.#tree;
    if (!this.#tree.isRead || version === this.#kept.version) return;
    if (this.#kept.version !== -1 && Date.now() - this.#kept.at < EVERY_MS) return;
    this.#kept = { version, at: Date.now() };
    const head = await this.#tree.head();
    const overlay = this.#tree.overlay();
    const staged = await this.#staged(head);
    this.#store.write(({ registry }) =>
      registry.register(
        {
          path: this.#tree.checkout.toplevel,
          head,
          overlay: JSON.stringify(overlay),
          staged: staged.join(' '),
          usedAt: Date.now(),
        },
        this.#tree.sourceBytes,
      ),
    );
  }

  /** Where index and commit differ: of a checkout that is clean, git knows at once that they do not. */
  async #staged(head: string): Promise<string[]> {
    const { checkout, files } = this.#tree;
    if (head === '') return [...files.values()].flatMap(({ oid, isLocal }) => (isLocal ? [] : [oid]));
    const args = ['diff-index', '--cached', '--raw', '--no-abbrev', '--no-renames', '-z', '--end-of-options', head];
    const { stdout } = await this.#git.call(checkout, args, { maxBytes: MAX_BYTES });
    const fields = nulFields(stdout);
    const staged: string[] = [];
    for (const field of fields) {
      const [, , , oid = ''] = field.toString('latin1').split(' ');
      if (files.get(nextField(fields))?.oid === oid) staged.push(oid);
    }
    return staged;
  }
}

/** What an earlier server kept. Anything that is not of its making is taken for nothing: the files are read again then. */
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
