/** True when `version` is a release before `other`; a version nobody can read counts as old. */
export function isOlder(version: string | undefined, other: string): boolean {
  const [mine, theirs] = [numbersOf(version ?? ''), numbersOf(other)];
  const at = theirs.findIndex((part, index) => part !== mine[index]);
  return at !== -1 && (mine[at] ?? -1) < (theirs[at] ?? 0);
}

function numbersOf(version: string): number[] {
  return (/\d+\.\d+\.\d+/.exec(version)?.[0] ?? '').split('.').filter(Boolean).map(Number);
}
