import type { Oid } from '../../git/ref-name.ts';
import type { Parts } from '../parts.ts';
import { addEntry, removeEntry } from '../registry.ts';

/** A checkout of a commit on no branch, for as long as `use` takes: what is made in it is nobody's work. */
export async function withScratch<T>(
  parts: Parts,
  { id, commit }: { id: string; commit: Oid },
  use: (path: string) => Promise<T>,
): Promise<T> {
  const path = parts.layout.scratchOf(id);
  await removeEntry(parts, path);
  await addEntry(parts, { path, commit, reason: `reef scratch ${id}` });
  try {
    return await use(path);
  } finally {
    await removeEntry(parts, path);
  }
}
