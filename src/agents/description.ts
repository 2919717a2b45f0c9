import { join } from 'node:path';

/**
 * Where a path in an agent's description leads: `~/x` into the agent's home, `$X` and `$X/y` to where that variable of the
 * agent's points. Undefined where it leads nowhere: an empty variable counts as none.
 */
export function namedPath(name: string, env: Readonly<Record<string, string>>): string | undefined {
  const [, variable = 'HOME', rest = ''] = /^(?:~|\$(\w+))(\/.*)?$/.exec(name) ?? [undefined, ''];
  if (variable === '') return name;
  return env[variable] ? join(env[variable], rest) : undefined;
}

/** True when `version` is a release before `other`. A version nobody can read counts as old. */
export function isOlder(version: string | undefined, other: string): boolean {
  const [mine, theirs] = [numbersOf(version ?? ''), numbersOf(other)];
  const at = theirs.findIndex((part, index) => part !== mine[index]);
  return at !== -1 && (mine[at] ?? -1) < (theirs[at] ?? 0);
}

function numbersOf(version: string): number[] {
  return (/\d{1,9}\.\d{1,9}\.\d{1,9}/.exec(version)?.[0] ?? '').split('.').filter(Boolean).map(Number);
}
