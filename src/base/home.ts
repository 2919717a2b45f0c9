import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { ReefError } from '../protocol/errors.ts';
import type { Environment } from './env.ts';

/** Where a repository's jobs, database and daemon live: outside the repository, so that a clone brings none. */
export interface Home {
  dir: string;
  /** The daemon's socket lies here, and each job's in a folder of its own. No sandbox shows this folder. */
  sockets: string;
  socket: string;
  /** The credential of a person: whoever can read this file may decide. */
  person: string;
  /** The token of scripts for the door over TCP, worth as much as the credential of a person. */
  token: string;
  /** Where the door over TCP was open, and hashes of the page tokens. */
  door: string;
  /** Held by the daemon for as long as it lives. */
  lock: string;
  /** Pid and version of the daemon, for people and for `reef doctor`. */
  daemon: string;
  log: string;
  database: string;
  snapshot: string;
  /** Names the worker of a fleet that keeps this home; other homes have none. */
  worker: string;
  /** Absent when `REEF_HOME` is set and the folder is in no repository. */
  repository?: string;
}

/** The kernel accepts no longer path for a socket. */
const LONGEST_SOCKET = 104;
const LONGEST_IN_SOCKETS = '/01ARZ3NDEKTSV4RRFFQ69G5FAV/sock'.length;
const LONGEST_NAME = 24;
const WORKTREE_GITDIR = /^gitdir: (.+)[/\\]\.git[/\\]worktrees[/\\][^/\\]+\s*$/;

/** `REEF_HOME`, or the folder of the repository around `cwd` below the user's state folder. A worktree shares its repository's home. */
export function findHome(env: Environment, cwd: string): Home {
  const repository = findRepository(cwd);
  if (env.reefHome !== undefined) return homeAt(resolve(cwd, env.reefHome), env, repository);
  if (repository === undefined) throw new ReefError('not_a_repository', `${cwd} is not inside a git repository`);
  return homeAt(join(homesFolder(env), nameOf(repository)), env, repository);
}

/** All homes that `REEF_HOME` does not move lie here. */
function homesFolder(env: Pick<Environment, 'stateHome'>): string {
  return join(env.stateHome, 'reef');
}

/** The homes of this user in which a daemon has run, by the name of the repository. */
export function everyHome(env: Environment): { name: string; home: Home }[] {
  const folder = homesFolder(env);
  const found = existsSync(folder) ? readdirSync(folder, { withFileTypes: true }) : [];
  return found
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => ({ name: name.replace(/-[0-9a-f]{12}$/, ''), home: homeAt(join(folder, name), env) }))
    .filter(({ home }) => existsSync(home.daemon))
    .sort((one, other) => one.name.localeCompare(other.name));
}

export function homeAt(dir: string, env: Environment, repository?: string): Home {
  const sockets = socketsOf(dir, env);
  const files = {
    dir,
    sockets,
    socket: join(sockets, 'reefd.sock'),
    person: join(sockets, 'person.key'),
    token: join(sockets, 'door.token'),
    door: join(dir, 'door.json'),
    lock: join(dir, 'daemon.lock'),
    daemon: join(dir, 'daemon.json'),
    log: join(dir, 'daemon.log'),
    database: join(dir, 'reef.db'),
    snapshot: join(dir, 'state.json'),
    worker: join(dir, 'worker'),
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

/** The checkout around a folder: inside a worktree, the worktree and not the repository that it belongs to. */
export function checkoutOf(folder: string): string | undefined {
  const git = join(folder, '.git');
  if (existsSync(join(git, 'HEAD')) || statSync(git, { throwIfNoEntry: false })?.isFile()) return folder;
  const parent = dirname(folder);
  return parent === folder ? undefined : checkoutOf(parent);
}

/** The checkout around a folder if it is one of this repository, whoever made it: the main one, or a worktree. */
export function checkoutIn(repository: string, folder: string): string | undefined {
  try {
    const real = realpathSync(folder);
    const around = findRepository(real);
    return around && realpathSync(around) === realpathSync(repository) ? checkoutOf(real) : undefined;
  } catch {
    return undefined; // the folder is gone
  }
}

/** A name people recognise, and a hash that tells repositories of the same name apart. */
function nameOf(repository: string): string {
  const path = realpathSync(repository);
  const name = basename(path)
    .replaceAll(/[^\w.-]/g, '_')
    .slice(0, LONGEST_NAME);
  return `${name}-${shortHash(path)}`;
}

/**
 * One folder of sockets per home, below the user's state folder. Where that path is too long for a socket, the runtime or
 * cache folder takes its place. Never the temporary folder: another user could create the socket there first and listen on it.
 */
export function socketsOf(dir: string, env: Environment): string {
  const name = shortHash(dir);
  const usual = join(homesFolder(env), 'run', name);
  const fits = Buffer.byteLength(usual) + LONGEST_IN_SOCKETS < LONGEST_SOCKET;
  return fits ? usual : join(env.runtimeDir ?? env.cacheHome, 'reef', 'run', name);
}

function shortHash(text: string): string {
  // Loaded here: an import would make every command that needs no home pay for it.
  const { createHash } = process.getBuiltinModule('node:crypto');
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}
