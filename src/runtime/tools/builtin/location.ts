import { realpathSync } from 'node:fs';
import { isAbsolute, relative, resolve } from 'node:path';
import { createSafeDir, type SafeDir } from '../../../base/safe-dir.ts';
import { ReefError } from '../../../protocol/errors.ts';
import type { Claims } from '../tool.ts';

/** The target of a tool's path. Links are never followed: the path that was permitted is the path that is used. */
export interface Location {
  dir: SafeDir;
  /** Relative to `dir`; '' is `dir` itself. */
  path: string;
  /** The path as the model wrote it, for messages. */
  shown: string;
  isOutside: boolean;
  absolute: string;
}

export interface Locations {
  locate(path: string, cwd: string): Location;
  /** For the permission rules: the path, and whether it is outside the working directory. */
  claims(args: { path: string }, cwd: string): Claims;
}

/** Tools may read the `readable` folders without asking, such as the one of outputs that were cut. */
export function createLocations(readable: readonly string[] = []): Locations {
  const locate = (path: string, cwd: string): Location => {
    if (path.includes('\0')) throw new ReefError('path_outside_worktree', 'A path must not contain NUL characters');
    const root = realpathSync(cwd);
    const absolute = isAbsolute(path) ? resolve(path) : resolve(root, path);
    for (const base of [root, resolve(cwd), ...readable]) {
      const inside = below(base, absolute);
      if (inside !== undefined) {
        const at = base === resolve(cwd) ? root : base;
        return { dir: createSafeDir(at), path: inside, shown: path, isOutside: false, absolute };
      }
    }
    return { dir: createSafeDir('/'), path: absolute.slice(1), shown: path, isOutside: true, absolute };
  };
  return {
    locate,
    claims({ path }, cwd) {
      const { isOutside, absolute, path: inside } = locate(path, cwd);
      return isOutside ? { subject: absolute, outside: [absolute] } : { subject: inside === '' ? '.' : inside };
    },
  };
}

function below(base: string, path: string): string | undefined {
  const inside = relative(base, path);
  return inside === '..' || inside.startsWith('../') || isAbsolute(inside) ? undefined : inside;
}

/** Turns a system error into words a model understands. */
export async function named<T>(location: Location, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === undefined ? undefined : WORDS[code];
    if (why === undefined) throw error;
    throw new ReefError('tool_failed', `${location.shown} ${why}`, { cause: error });
  }
}

const WORDS: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'is not a folder',
  EISDIR: 'is a folder',
  EEXIST: 'exists already',
  ENOTEMPTY: 'is not empty',
  EACCES: 'may not be accessed',
  EPERM: 'may not be changed',
};
