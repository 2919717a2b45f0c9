import type { Oid } from '../../git/ref-name.ts';
import type { Deps } from '../deps.ts';
import { addEntry, removeEntry } from '../registry.ts';

/** A checkout of a commit on no branch, for as long as `use` takes: what is made in it is nobody's work. */
export async function withScratch<T>(
  deps: Deps,
  { id, commit }: { id: string; commit: Oid },
  use: (path: string) => Promise<T>,
): Promise<T> {
  const path = deps.layout.scratchOf(id);
  await removeEntry(deps, path);
  await addEntry(deps, { path, commit, reason: `reef scratch ${id}` });
  try {
    return await use(path);
  } finally {
    await removeEntry(deps, path);
  }
}
