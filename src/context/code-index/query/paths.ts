import { basename, dirname, join, relative } from 'node:path';
import { closest, distance } from 'fastest-levenshtein';
import { refusePath, safeParts } from '../../../base/safe-path.ts';
import { ReefError } from '../../../protocol/errors.ts';
import { lookAt } from '../tree/read-file.ts';
import type { View } from '../tree/view.ts';

/** A path that differs in more than one letter of so many is another. */
const FAR = 3;

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

/** The same name elsewhere, otherwise the most similar path, if it can be what was meant. */
function nearest(path: string, view: View): string | undefined {
  const name = basename(path).toLowerCase();
  const same = view.paths.filter((each) => basename(each).toLowerCase() === name);
  if (same.length > 0) return closest(path, same);
  const beside = view.paths.filter((each) => dirname(each) === dirname(path));
  const near = closest(path, beside.length > 0 ? beside : view.paths);
  return near && distance(path, near) <= path.length / FAR ? near : undefined;
}
