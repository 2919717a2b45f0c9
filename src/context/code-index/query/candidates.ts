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
  const sets = hashes.length === 0 ? [] : index.words.holding(hashes, view.oids);
  const files: TreeFile[] = [];
  let pending = 0;
  let skipped = 0;
  for (const path of view.paths) {
    const file = view.files.get(path) as TreeFile;
    const status = index.coverage.words(file.oid);
    if (status === undefined) pending += 1;
    else if (status === 'too_large') skipped += 1;
    else if (status === 'ok' && sets.every((set) => set.has(file.oid))) files.push(file);
  }
  return { files, pending, skipped };
}
