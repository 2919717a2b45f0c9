import { randomUUID } from 'node:crypto';
import { delimiter } from 'node:path';
import type { Environment } from '../base/env.ts';
import { allowedEnv } from './environment.ts';
import { run } from './run.ts';

const LIMIT_MS = 5_000;

/** The PATH of a new terminal, as the login shell prints it between marks. Undefined when the shell does not answer. */
export async function loginPath(
  { shell, home, all }: Pick<Environment, 'shell' | 'home' | 'all'>,
  limitMs = LIMIT_MS,
): Promise<string | undefined> {
  const mark = `reef-${randomUUID()}`;
  // Interactive as well: many put their PATH where only such shells look. It has no terminal to wait at.
  const args = ['-l', '-i', '-c', `printf '%s' ${mark} "$PATH" ${mark}`];
  const env = allowedEnv(all, [], { TERM: 'dumb' });
  const said = await run({ file: shell, args, cwd: home, env, timeoutMs: limitMs, maxBytes: 1_048_576 }).catch(
    () => undefined,
  );
  const [, path] = said?.stdout.toString('utf8').split(mark) ?? [];
  return path === undefined || path === '' ? undefined : path;
}

/** What the first has, then what only the second has. */
export function joinedPath(first: string, second: string): string {
  const folders = [...first.split(delimiter), ...second.split(delimiter)].filter((folder) => folder !== '');
  return [...new Set(folders)].join(delimiter);
}
