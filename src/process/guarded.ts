import { lstatSync, readdirSync, readlinkSync, realpathSync, rmdirSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

/** As many links as the kernel follows. */
const MOST_LINKS = 40;

/**
 * The place that must not change for a guarded path to stay what it is: where its links lead, and of a place that is absent the
 * first part that is. Undefined where nothing can be made.
 */
export function guardedPlace(path: string, links = 0): string | undefined {
  const entry = lstatSync(path, { throwIfNoEntry: false });
  if (entry?.isSymbolicLink() && links < MOST_LINKS) {
    const folder = realpathSync(dirname(path));
    return guardedPlace(resolve(folder, readlinkSync(path)), links + 1);
  }
  if (entry?.isSymbolicLink()) return undefined;
  if (entry) return realpathSync(path);
  const above = guardedPlace(dirname(path), links);
  if (above === undefined || lstatSync(above, { throwIfNoEntry: false }) === undefined) return above;
  return isFolder(above) ? join(above, basename(path)) : undefined;
}

/** Removes the empty folders that stood for absent ones. Call it after the last program that they guarded against. */
export function unguard(guarded: readonly string[]): void {
  for (const path of guarded) {
    const folder = dirname(path);
    let place = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ? guardedPlace(path) : path;
    while (place !== undefined && (place === path || isInside(place, [folder])) && isRemoved(place))
      place = dirname(place);
  }
}

/** False for a file, what is not empty and what is not ours. */
function isRemoved(path: string): boolean {
  try {
    rmdirSync(path);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT';
  }
}

export function isInside(path: string, folders: readonly string[]): boolean {
  return folders.some((folder) => path.startsWith(`${folder}/`));
}

export function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** An empty folder counts as nothing: another sandbox may have put it there. */
export function isNothing(path: string): boolean {
  const entry = lstatSync(path, { throwIfNoEntry: false });
  return entry === undefined || (entry.isDirectory() && readdirSync(path).length === 0);
}
