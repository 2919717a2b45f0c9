import { chmod, lstat, mkdir, stat } from 'node:fs/promises';
import { relative } from 'node:path';
import { findOldHome, takeOverOldHome } from '../../app/old-home.ts';
import { systemClock } from '../../base/clock.ts';
import type { Home } from '../../base/home.ts';
import type { Git } from '../../git/git-command.ts';
import { holdLock, isLocked } from '../../store/home-lock.ts';
import type { Client } from '../client/client.ts';
import { listens } from '../client/start-daemon.ts';
import { byHand, type Check, check, ok, type Result, warn } from './finding.ts';
import { settledByDaemon } from './settle.ts';
import { walk } from './walk.ts';

const LOCK_WAIT_MS = 10_000;
const LOCK_POLL_MS = 50;
/** The check must end, however large the home is. */
const MOST_ENTRIES = 50_000;

/** Checks of the home that only look at its files. */
export function homeChecks(home: Home): Check[] {
  return [check('home', () => modes(home.dir)), check('clock', () => clock(home))];
}

/** The state of a Reef that still kept it in the repository. Whether it is taken over by itself is decided when the daemon starts. */
export function oldHomeCheck(deps: {
  home: Home & { repository: string };
  git: Git;
  client: Pick<Client, 'stop'>;
}): Check {
  return check('old home', async () => {
    const { home, git, client } = deps;
    const old = await findOldHome(git, home.repository);
    if (old.is === 'absent') return ok('none', 'nothing in .reef/ is state of an older Reef');
    if (old.is === 'not ours') {
      const what = `${old.dir} holds the state of a Reef, and may have come with the repository: ${old.because}`;
      return warn(what, old.dir, byHand(`rm -r what you do not know in ${old.dir}`));
    }
    return warn('jobs of an older Reef lie in the repository', old.dir, {
      does: 'move them to where homes lie now; only if you used Reef here before',
      safe: true,
      apply: async () => {
        await client.stop(false);
        const lock = await lockOf(home);
        await takeOverOldHome(old.dir, home).finally(() => lock.release());
      },
    });
  });
}

/** The daemon was asked to end, and lets go of the home when it has. */
async function lockOf(home: Home): Promise<{ release(): void }> {
  const deadline = systemClock.monotonicMs() + LOCK_WAIT_MS;
  await mkdir(home.dir, { recursive: true, mode: 0o700 });
  while (isLocked(home.lock) && systemClock.monotonicMs() < deadline) await systemClock.sleep(LOCK_POLL_MS);
  return holdLock(home.lock);
}

export function socketCheck(home: Home, client: Pick<Client, 'call'>): Check {
  return check('socket', () => socket(home.socket, client));
}

/** Files that Reef makes. Others, such as a workflow kept in git, may be readable by everybody. */
const OURS = /^(?:jobs|index|artifacts|reef\.db.*|state\.json.*|daemon\..*|.*\.sock|.*lock|token)$/;

/** Made by other programs inside a private folder: mount points of a sandbox, an agent's own state, Node's compile cache. */
const THEIRS = /^(?:index\/[^/]+\/(?:sandbox|compile-cache)|jobs\/[^/]+\/(?:sandbox|agent))(?:\/|$)/;

/** Only the owner may read the files that Reef makes. */
async function modes(dir: string): Promise<Result> {
  const found = await lstat(dir).catch(() => undefined);
  if (!found) return ok('none yet; the first command makes it', dir);
  const open: string[] = isOpen(found.mode) ? [dir] : [];
  let seen = 0;
  for await (const path of walk(dir, OURS)) {
    if (++seen > MOST_ENTRIES) break;
    if (THEIRS.test(relative(dir, path))) continue;
    const entry = await lstat(path).catch(() => undefined);
    if (entry && !entry.isSymbolicLink() && isOpen(entry.mode)) open.push(path);
  }
  if (open.length === 0) return ok('private', dir);
  return warn(`other users may read ${open.length} files of Reef`, open.slice(0, 5).join(', '), {
    does: 'remove the rights of group and others',
    safe: true,
    apply: () => closeAll(open),
  });
}

function isOpen(mode: number): boolean {
  return (mode & 0o077) !== 0;
}

async function closeAll(paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    const entry = await lstat(path).catch(() => undefined);
    if (entry && !entry.isSymbolicLink()) await chmod(path, entry.mode & 0o700);
  }
}

async function socket(path: string, client: Pick<Client, 'call'>): Promise<Result> {
  const found = await lstat(path).catch(() => undefined);
  if (!found) return ok('no daemon is running', path);
  if (await listens(path)) return ok('the daemon listens', path);
  const isLeft = async () => !(await listens(path));
  return warn('left behind by a daemon that no longer runs', path, settledByDaemon(client, isLeft));
}

const FUTURE_MS = 5 * 60_000;

/** A file from the future means that the clock went back. Then times of events and ages of files are wrong. */
async function clock({ database, snapshot, log }: Home): Promise<Result> {
  const written = await Promise.all([database, snapshot, log].map((path) => stat(path).catch(() => undefined)));
  const newest = Math.max(0, ...written.map((each) => each?.mtimeMs ?? 0));
  const ahead = newest - Date.now();
  const now = new Date().toISOString();
  if (ahead < FUTURE_MS) return ok(now, 'no file of the home is from the future');
  const what = `files of the home are ${Math.round(ahead / 60_000)} minutes ahead of the clock`;
  return warn(what, now, byHand('set the clock, for example: timedatectl set-ntp true'));
}
