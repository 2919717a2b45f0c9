import { join } from 'node:path';

/**
 * Where an agent's description points: `~/x` is in the agent's home, `$X` and `$X/y` are where that variable of the agent's
 * leads. Undefined where it leads nowhere: an empty variable is none.
 */
export function namedPath(name: string, env: Readonly<Record<string, string>>): string | undefined {
  const [, variable = 'HOME', rest = ''] = /^(?:~|\$(\w+))(\/.*)?$/.exec(name) ?? [undefined, ''];
  if (variable === '') return name;
  return env[variable] ? join(env[variable], rest) : undefined;
}
