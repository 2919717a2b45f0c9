import { basename, dirname, join, relative } from 'node:path';
import { closest } from 'fastest-levenshtein';
import { refusePath, safeParts } from '../../../base/safe-path.ts';
import { ReefError } from '../../../protocol/errors.ts';
import { lookAt } from '../tree/read-file.ts';
import type { View } from '../tree/view.ts';

/** A caller's path from the root of the worktree. A path that leads out, by its text or by a link, is refused. */
export function pathInside(root: string, given: string): string {
  const inner = given === root || given.startsWith(`${root}/`) ? relative(root, given) : given;
  const parts = safeParts(inner);
  for (const [index] of parts.entries()) {
    const stats = lookAt(join(root, ...parts.slice(0, index + 1)));
    if (stats?.isSymbolicLink()) throw refusePath(given, 'leads through a link');
  }
  return parts.join('/');
}

export function fileNotFound(path: string, view: View): ReefError {
  const near = nearest(path, view);
  const advice = near === undefined ? '' : ` The nearest is ${near}.`;
  return new ReefError('file_not_found', `There is no file ${JSON.stringify(path.slice(0, 200))} here.${advice}`, {
    details: { path, ...(near !== undefined && { nearest: near }) },
  });
}

/** The same name elsewhere, otherwise the most similar path. */
function nearest(path: string, view: View): string | undefined {
  const name = basename(path).toLowerCase();
  const same = view.paths.filter((each) => basename(each).toLowerCase() === name);
  const pool = same.length > 0 ? same : view.paths.filter((each) => dirname(each) === dirname(path));
  return closest(path, pool.length > 0 ? pool : view.paths) || undefined;
}
