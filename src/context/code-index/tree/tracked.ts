import { readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Git } from '../../../git/git-command.ts';
import type { Place } from '../../../git/place.ts';
import type { Oid } from '../../../git/ref-name.ts';
import { filteredPaths, listIndex, listTouched } from '../../../git/tree.ts';

/** What git's index says of a checkout. */
export interface Tracked {
  /** The blob of a path; null where only the file itself tells: a conflict, or a filter between blob and file (C-032). */
  blobs: ReadonlyMap<string, Oid | null>;
  /** Paths whose file may differ from its blob. */
  touched: ReadonlySet<string>;
  /** Files that last changed well before this are as `blobs` and `touched` say. */
  asOf: number;
  stamp: string;
}

const REGULAR = /^100/;
const MOST_TRIES = 5;

/** Changes when the index does: `git add`, a checkout, a commit with paths. */
export function indexStamp({ gitDir }: Place): string {
  const stats = statSync(join(gitDir, 'index'), { throwIfNoEntry: false });
  return stats === undefined ? 'none' : `${stats.ino} ${stats.size} ${stats.mtimeMs} ${stats.ctimeMs}`;
}

/** Submodules, links and sparse entries are left out. An index that changes meanwhile is read again. */
export async function readTracked(git: Git, place: Place): Promise<Tracked> {
  for (let tries = 1; ; tries++) {
    const stamp = indexStamp(place);
    const asOf = Date.now();
    const [blobs, touched] = await Promise.all([readBlobs(git, place), readTouched(git, place)]);
    if (indexStamp(place) !== stamp && tries < MOST_TRIES) continue;
    if (hasFilters(place, blobs.keys())) {
      for (const path of await filteredPaths(git, place, [...blobs.keys()])) blobs.set(path, null);
    }
    return { blobs, touched, asOf, stamp: indexStamp(place) === stamp ? stamp : 'moving' };
  }
}

async function readBlobs(git: Git, place: Place): Promise<Map<string, Oid | null>> {
  const blobs = new Map<string, Oid | null>();
  for await (const { mode, oid, stage, path } of listIndex(git, place)) {
    if (REGULAR.test(mode)) blobs.set(path, stage === 0 ? oid : null);
  }
  return blobs;
}

async function readTouched(git: Git, place: Place): Promise<Set<string>> {
  const touched = new Set<string>();
  for await (const path of listTouched(git, place)) touched.add(path);
  return touched;
}

/** Asking git for the attributes of every path takes longer than listing them: only where a filter may be set at all. */
function hasFilters(place: Place, paths: Iterable<string>): boolean {
  const files = [join(place.commonDir, 'info/attributes')];
  for (const path of paths) if (basename(path) === '.gitattributes') files.push(join(place.toplevel, path));
  return files.some((file) => /\bfilter\b/.test(textOf(file)));
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
