/** True when `version` names a release before `other`; a version nobody could read counts as old. */
export function isOlder(version: string | undefined, other: string): boolean {
  const [mine, theirs] = [numbers(version ?? ''), numbers(other)];
  for (const [index, theirPart] of theirs.entries()) {
    const part = mine[index] ?? -1;
    if (part !== theirPart) return part < theirPart;
  }
  return false;
}

function numbers(version: string): number[] {
  return (/\d+\.\d+\.\d+/.exec(version)?.[0] ?? '').split('.').filter(Boolean).map(Number);
}
