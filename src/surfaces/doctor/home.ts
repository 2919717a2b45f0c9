import { chmod, lstat, opendir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Home } from '../../base/home.ts';
import { listens } from '../client/start-daemon.ts';
import { type Check, type Found, ok, warn } from './finding.ts';

/** A home that outgrew its caps is another check's matter; this one must end. */
const MOST_ENTRIES = 50_000;

/** What can be said of a home by looking at its files. */
export function homeChecks(home: Home): Check[] {
  return [
    { name: 'home', look: async () => [{ check: 'home', ...(await modes(home.dir)) }] },
    { name: 'socket', look: async () => [{ check: 'socket', ...(await socket(home.socket)) }] },
  ];
}

type Result = Omit<Found, 'check'>;

/** Made by Reef; a person's own files, such as a workflow kept in git, are theirs to open. */
const OURS = /^(?:jobs|index|artifacts|reef\.db.*|state\.json.*|daemon\..*|.*\.sock|.*lock)$/;

/** Everything Reef makes is its owner's alone. */
async function modes(dir: string): Promise<Result> {
  const found = await lstat(dir).catch(() => undefined);
  if (!found) return ok('none yet; the first command makes it', dir);
  const open: string[] = isOpen(found.mode) ? [dir] : [];
  let seen = 0;
  for await (const path of walk(dir, OURS)) {
    if (++seen > MOST_ENTRIES) break;
    const entry = await lstat(path).catch(() => undefined);
    if (entry && !entry.isSymbolicLink() && isOpen(entry.mode)) open.push(path);
  }
  if (open.length === 0) return ok('closed to others', dir);
  return {
    ...warn(`${open.length} entries are open to other users`, open.slice(0, 5).join(', ')),
    fix: { does: 'take the rights of group and others away', safe: true, apply: () => closeAll(open) },
  };
}

function isOpen(mode: number): boolean {
  return (mode & 0o077) !== 0;
}

async function* walk(dir: string, names?: RegExp): AsyncGenerator<string> {
  const entries = await opendir(dir).catch(() => undefined);
  if (!entries) return;
  for await (const entry of entries) {
    if (names && !names.test(entry.name)) continue;
    const path = join(dir, entry.name);
    yield path;
    if (entry.isDirectory()) yield* walk(path);
  }
}

async function closeAll(paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    const entry = await lstat(path).catch(() => undefined);
    if (entry && !entry.isSymbolicLink()) await chmod(path, entry.mode & 0o700);
  }
}

async function socket(path: string): Promise<Result> {
  const found = await lstat(path).catch(() => undefined);
  if (!found) return ok('no daemon runs', path);
  if (await listens(path)) return ok('a daemon answers', path);
  return warn('left behind by a daemon that is gone; the next command replaces it', path);
}
