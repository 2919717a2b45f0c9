import { lstatSync, readlinkSync, renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';

/** Where each link leads, by its name. */
export type Links = Readonly<Record<string, string>>;

export function linksAmong(folder: string, names: readonly string[]): Links {
  const found = names.map((name) => [name, target(join(folder, name))] as const);
  return Object.fromEntries(found.flatMap(([name, to]) => (to === undefined ? [] : [[name, to]])));
}

/** No mount can keep a link from being replaced. What stands in its place gets another name, on which no program acts. */
export function putBack(folder: string, links: Links): void {
  for (const [name, to] of Object.entries(links)) {
    const path = join(folder, name);
    if (target(path) === to) continue;
    if (isThere(path)) renameSync(path, free(`${path}.replaced`));
    symlinkSync(to, path);
  }
}

function free(path: string): string {
  for (let n = 1; ; n += 1) {
    const next = n === 1 ? path : `${path}-${n}`;
    if (!isThere(next)) return next;
  }
}

function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

function target(path: string): string | undefined {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ? readlinkSync(path) : undefined;
}
