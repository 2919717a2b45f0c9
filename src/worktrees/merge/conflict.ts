import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ReefError } from '../../protocol/errors.ts';
import type { StoredWorktree } from '../records.ts';

/** Files of the last update that still have marks. */
export async function markedFiles({ path, conflict }: StoredWorktree): Promise<string[]> {
  if (!conflict || path === null) return [];
  const marked: string[] = [];
  for (const file of conflict.files) if (await hasMarks(join(path, file))) marked.push(file);
  return marked;
}

export async function hasMarks(file: string): Promise<boolean> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return /^<{7} /m.test(text) && /^>{7} /m.test(text);
}

/** Refuses a merge while a conflict of the last update is open. Returns what a person has to agree to. */
export async function openConflicts(row: StoredWorktree): Promise<string[]> {
  const marked = await markedFiles(row);
  if (marked.length > 0) throw conflictError(row, marked, `Still marked in ${row.path}:`);
  return (row.conflict?.unmarked ?? []).map((file) => `both sides changed it, and one was taken: ${file}`);
}

export function conflictError({ id, path }: StoredWorktree, files: readonly string[], what: string): ReefError {
  const named = files.slice(0, 20).join(', ');
  const by = `Let an agent resolve it: reef worktree update ${id} --agent claude`;
  const own = `Or do it yourself: reef worktree update ${id}, edit the marked files in ${path}, then reef accept ${id}`;
  return new ReefError('merge_conflict', `${what} ${named}. ${by}. ${own}.`, { details: { files: [...files] } });
}
