import type { FileRanges } from '../../git/diff.ts';
import type { Clash } from '../../protocol/worktrees.ts';
import type { Fold } from '../plan.ts';

type ClashFile = Clash['files'][number];
type LineRange = NonNullable<FileRanges['lines']>[number];

/** The lines that two lists of ranges share. One walk along both: an agent chooses how many ranges there are. */
export function sharedLines(one: readonly LineRange[], other: readonly LineRange[]): [number, number][] {
  const [here, there] = [joined(one), joined(other)];
  const shared: [number, number][] = [];
  for (let i = 0, j = 0; ; ) {
    const [a, b] = [here[i], there[j]];
    if (!a || !b) return shared;
    const [first, last] = [Math.max(a[0], b[0]), Math.min(a[1], b[1])];
    if (first <= last) shared.push([first, last]);
    if (a[1] < b[1]) i++;
    else j++;
  }
}

/** In order, and those that overlap as one. */
function joined(ranges: readonly LineRange[]): [number, number][] {
  const result: [number, number][] = [];
  for (const [first, last] of ranges.toSorted(([a], [b]) => a - b)) {
    const before = result.at(-1);
    if (before && first <= before[1]) before[1] = Math.max(before[1], last);
    else result.push([first, last]);
  }
  return result;
}

interface Pair {
  one: readonly FileRanges[];
  other: readonly FileRanges[];
  /** What git could not merge. */
  conflicts: readonly string[];
  fold: Fold;
}

/** Files where two changes meet in lines of the common base, or where git finds a conflict. Equal changes are none. */
export function hotFiles({ one, other, conflicts, fold }: Pair): ClashFile[] {
  const found = new Map<string, ClashFile>();
  const others = byName(other, fold);
  for (const change of one) {
    for (const name of namesOf(change)) {
      const twin = others.get(fold(name));
      if (!twin || isSame(change, twin)) continue;
      const lines = sharedLines(change.lines ?? [], twin.lines ?? []);
      if (lines.length > 0) found.set(fold(name), { path: name, lines });
    }
  }
  for (const path of conflicts) if (!found.has(fold(path))) found.set(fold(path), { path });
  return [...found.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}

function byName(changes: readonly FileRanges[], fold: Fold): Map<string, FileRanges> {
  return new Map(changes.flatMap((change) => namesOf(change).map((name) => [fold(name), change] as const)));
}

/** A renamed file counts under both names. */
export function namesOf({ path, from }: { path: string; from?: string }): string[] {
  return from === undefined ? [path] : [path, from];
}

function isSame(one: FileRanges, other: FileRanges): boolean {
  return one.path === other.path && one.after.oid === other.after.oid && one.after.mode === other.after.mode;
}
