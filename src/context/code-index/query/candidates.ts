import type { Oid } from '../../../git/ref-name.ts';
import type { CodeIndex } from '../code-index.ts';
import type { View } from '../tree/view.ts';
import type { TreeFile } from '../tree/worktree-tree.ts';
import { candidateHashes } from '../words/sketch.ts';

export interface Candidates {
  /** By path. */
  files: TreeFile[];
  /** Files without a sketch yet: they may hold the name as well. */
  pending: number;
  /** Files too large for a sketch. A binary one holds no code. */
  skipped: number;
}

/** The files that may hold a name: all that do, and a few by chance, which fall away when they are read (C-011). */
export function candidatesFor(index: CodeIndex, view: View, name: string): Candidates {
  const hashes = candidateHashes(name);
  const sets = index.words.holding(hashes, view.oids);
  const isHeld = (oid: Oid) => index.coverage.words(oid) === 'ok' && sets.every((set) => set.has(oid));
  const [smallest = view.oids] = sets.sort((a, b) => a.size - b.size);
  const files = [...smallest].filter(isHeld).flatMap((oid) => view.withBlob(oid));
  files.sort((one, other) => (one.path < other.path ? -1 : 1));
  const unread = index.unread(view);
  const pending = unread.filter(({ oid }) => index.coverage.words(oid) === undefined).length;
  return { files, pending, skipped: unread.length - pending };
}
