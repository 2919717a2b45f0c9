import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { ReefError } from '../protocol/errors.ts';
import type { Environment } from './env.ts';

/** Where a repository's jobs, database and daemon live. */
export interface Home {
  dir: string;
  socket: string;
  /** Held by the daemon for as long as it lives. */
  lock: string;
  /** Pid and version of the daemon, for people and for `reef doctor`. */
  daemon: string;
  log: string;
  database: string;
  snapshot: string;
  /** Absent when `REEF_HOME` is set and the folder is in no repository. */
  repository?: string;
}

/** The kernel accepts no longer path for a socket. */
const LONGEST_SOCKET = 100;
const WORKTREE_GITDIR = /^gitdir: (.+)[/\\]\.git[/\\]worktrees[/\\][^/\\]+\s*$/;

/** `REEF_HOME`, or `.reef` at the root of the repository around `cwd`; a worktree shares the home of its repository. */
export function findHome(env: Environment, cwd: string): Home {
  const repository = findRepository(cwd);
  if (env.reefHome !== undefined) return homeAt(resolve(cwd, env.reefHome), env, repository);
  if (repository === undefined) throw new ReefError('not_a_repository', `${cwd} is not inside a git repository`);
  return homeAt(join(repository, '.reef'), env, repository);
}

export function homeAt(dir: string, env: Environment, repository?: string): Home {
  const files = {
    dir,
    socket: socketFor(dir, env),
    lock: join(dir, 'daemon.lock'),
    daemon: join(dir, 'daemon.json'),
    log: join(dir, 'daemon.log'),
    database: join(dir, 'reef.db'),
    snapshot: join(dir, 'state.json'),
  };
  return repository === undefined ? files : { ...files, repository };
}

/** The root of the repository around a folder; for a worktree, that of its repository. An empty `.git` does not count. */
export function findRepository(folder: string): string | undefined {
  const git = join(folder, '.git');
  if (existsSync(join(git, 'HEAD'))) return folder;
  if (statSync(git, { throwIfNoEntry: false })?.isFile()) {
    const repository = WORKTREE_GITDIR.exec(readFileSync(git, 'utf8'))?.[1];
    return repository === undefined ? folder : resolve(folder, repository);
  }
  const parent = dirname(folder);
  return parent === folder ? undefined : findRepository(parent);
}

function socketFor(dir: string, env: Environment): string {
  const beside = join(dir, 'reefd.sock');
  if (Buffer.byteLength(beside) <= LONGEST_SOCKET) return beside;
  // Loaded only here: every command pays for the imports of this file.
  const { createHash } = process.getBuiltinModule('node:crypto');
  const name = createHash('sha256').update(dir).digest('hex').slice(0, 16);
  // Not in the temporary folder: another user could create the socket there first and listen on it.
  return join(env.runtimeDir ?? env.cacheHome, 'reef', 'run', `${name}.sock`);
}
