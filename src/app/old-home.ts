import { existsSync, lstatSync } from 'node:fs';
import { cp, lstat, opendir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Environment } from '../base/env.ts';
import type { Home } from '../base/home.ts';
import type { Logger } from '../base/log.ts';
import type { Git } from '../git/git-command.ts';
import { ReefError } from '../protocol/errors.ts';
import { TrustFile, trustPath } from '../runtime/config/trust-file.ts';
import { isLocked } from '../store/home-lock.ts';
import { Store } from '../store/store.ts';

/** A home lay in its repository once. The database goes last: while it is there, the move is not finished. */
const STATE = ['jobs', 'artifacts', 'index', 'state.json', 'reef.db-wal', 'reef.db-shm', 'reef.db'];

export type OldHome =
  | { is: 'absent' }
  | { is: 'ours'; dir: string }
  /** A repository may bring such files, and whoever takes them over runs what they say. */
  | { is: 'not ours'; dir: string; because: string };

interface Around {
  home: Home;
  env: Environment;
  log: Logger;
}

/**
 * Takes over the home of an older Reef by itself only where a person has trusted something of this repository: an archive could
 * bring such a home, too, with a queued job in it. Elsewhere `reef doctor --fix` does it.
 */
export async function adoptOldHome({ home, env, log }: Around, found: { root: string; git: Git }): Promise<void> {
  const old = await findOldHome(found.git, found.root);
  if (old.is === 'absent') return;
  const because = whyLeftAlone(old, {
    isTrusted: new TrustFile(trustPath(env)).knows(found.root),
    isUsed: isUsed(home),
  });
  if (because !== undefined) return log.warn('the home of an older Reef is left alone', { dir: old.dir, because });
  await takeOverOldHome(old.dir, home);
  log.info('the home of an older Reef was taken over', { from: old.dir });
}

function whyLeftAlone(old: Exclude<OldHome, { is: 'absent' }>, home: { isTrusted: boolean; isUsed: boolean }) {
  if (old.is === 'not ours') return old.because;
  if (!home.isTrusted) return 'nothing of this repository is trusted';
  return home.isUsed ? 'this home has jobs of its own' : undefined;
}

function isUsed({ database }: Pick<Home, 'database'>): boolean {
  if (!existsSync(database)) return false;
  const store = new Store(database);
  try {
    return store.events.lastSeq() > 0;
  } finally {
    store.close();
  }
}

/** Looks for the state of an older Reef in `.reef/`, and whether it can have come with the repository. */
export async function findOldHome(git: Git, repository: string): Promise<OldHome> {
  const dir = join(repository, '.reef');
  const names = STATE.filter((name) => lstatSync(join(dir, name), { throwIfNoEntry: false }));
  if (!names.includes('reef.db')) return { is: 'absent' };
  const because = (await whatIsStrange(dir, names)) ?? (await whatIsTracked(git, repository, names));
  return because === undefined ? { is: 'ours', dir } : { is: 'not ours', dir, because };
}

/** Moves the state of an older Reef to where homes lie now, for the holder of the home's lock. A kill half way is made good by the next call. */
export async function takeOverOldHome(old: string, home: Pick<Home, 'dir' | 'database'>): Promise<void> {
  const lock = join(old, 'daemon.lock');
  if (existsSync(lock) && isLocked(lock)) {
    throw new ReefError('home_in_use', `A daemon of an older Reef still works in ${old}; stop it first`);
  }
  if (isUsed(home))
    throw new ReefError('home_in_use', `${home.dir} has jobs of its own already; Reef cannot join the two`);
  for (const name of STATE) await move(join(old, name), join(home.dir, name));
}

async function move(from: string, to: string): Promise<void> {
  if (!existsSync(from)) return;
  await rm(to, { recursive: true, force: true }); // what an unused home holds
  try {
    await rename(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error;
    // Another file system. The input of a launch is a FIFO, which a job that has ended needs no more.
    const isKept = async (path: string) => !(await lstat(path)).isFIFO();
    await cp(from, to, { recursive: true, preserveTimestamps: true, filter: isKept });
    await rm(from, { recursive: true });
  }
}

async function whatIsStrange(dir: string, names: readonly string[]): Promise<string | undefined> {
  if (!lstatSync(dir).isDirectory()) return '.reef is a link';
  for (const name of names) {
    const strange = await strangeAt(join(dir, name), name);
    if (strange !== undefined) return strange;
  }
  return undefined;
}

async function strangeAt(path: string, shown: string): Promise<string | undefined> {
  const entry = await lstat(path);
  if (entry.isSymbolicLink()) return `.reef/${shown} is a link`;
  if (entry.uid !== process.getuid?.()) return `.reef/${shown} belongs to another user`;
  if (!entry.isDirectory()) return undefined;
  for await (const { name } of await opendir(path)) {
    const strange = await strangeAt(join(path, name), `${shown}/${name}`);
    if (strange !== undefined) return strange;
  }
  return undefined;
}

async function whatIsTracked(git: Git, repository: string, names: readonly string[]): Promise<string | undefined> {
  const checkout = await git.locate(repository);
  const { stdout } = await git.call(checkout, ['ls-files', '-z', '--', ...names.map((name) => `.reef/${name}`)]);
  const [first] = stdout.toString().split('\0');
  return first ? `git tracks ${first}` : undefined;
}
