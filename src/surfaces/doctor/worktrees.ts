import { existsSync } from 'node:fs';
import { lstat, realpath } from 'node:fs/promises';
import { systemClock } from '../../base/clock.ts';
import type { Home } from '../../base/home.ts';
import type { Git } from '../../git/git-command.ts';
import type { Place } from '../../git/place.ts';
import { findRefLock } from '../../git/refs.ts';
import { WorktreeTable } from '../../store/worktree-table.ts';
import { classify } from '../../worktrees/care/classify.ts';
import { look } from '../../worktrees/care/reconcile.ts';
import { isAbandoned } from '../../worktrees/care/recover.ts';
import { refsOf } from '../../worktrees/care/stale-locks.ts';
import { KeyedLocks } from '../../worktrees/keyed-locks.ts';
import { worktreesFolder } from '../../worktrees/layout.ts';
import type { StoredWorktree } from '../../worktrees/record.ts';
import type { Client } from '../client/client.ts';
import { listens } from '../client/start-daemon.ts';
import { readDatabase } from './database.ts';
import { bad, byHand, type Check, check, type Found, ok, type Result, warn } from './finding.ts';
import { restartDaemon, settledByDaemon } from './settle.ts';
import { walk } from './walk.ts';

interface Parts {
  home: Home & { repository: string };
  client: Pick<Client, 'call'>;
  git: Git;
  dataHome: string;
  /** The user's `worktrees.root`, read when it is needed: a configuration that cannot be read is a finding. */
  root(): string | undefined;
  deep: boolean;
}

/** Worktrees and the work in them: records, git's list, folders, refs and locks held against each other. */
export function worktreeChecks(parts: Parts): Check[] {
  return [
    { name: 'worktrees', look: () => classes(parts) },
    { name: 'intents', look: () => intents(parts) },
    { name: 'ref locks', look: () => refLocks(parts) },
    check('worktree sizes', () => sizes(parts)),
    ...(parts.deep ? [check('git objects', () => objects(parts))] : []),
  ];
}

interface Scene {
  place: Place;
  folder: string;
  rows: StoredWorktree[];
}

async function sceneOf({ home, git, dataHome, root }: Parts): Promise<Scene> {
  const place = await git.locate(home.repository);
  const at = root();
  const wanted = worktreesFolder(place, { dataHome, ...(at !== undefined && { root: at }) });
  const rows = await readDatabase(home.database, (sqlite) =>
    new WorktreeTable(sqlite).all<StoredWorktree>(place.commonDir),
  );
  return { place, folder: await realpath(wanted).catch(() => wanted), rows: rows ?? [] };
}

async function classes(parts: Parts): Promise<Found[]> {
  const name = 'worktrees';
  const now = async () => {
    const { place, folder, rows } = await sceneOf(parts);
    if (!existsSync(folder)) return undefined;
    const records = { all: () => rows };
    return classify(
      await look({ git: parts.git, place, clock: systemClock, locks: new KeyedLocks(), records, layout: { folder } }),
    );
  };
  const found = await now();
  if (found === undefined) return [{ check: name, ...ok('none yet', 'reef worktree list') }];
  const isServed = await listens(parts.home.socket);
  const isGhost = (id: string) => async () => ((await now())?.ghosts ?? []).includes(id);
  const lost = found.ghosts.map((id) => {
    const fix = isServed ? restartDaemon : settledByDaemon(parts.client, isGhost(id));
    return { check: name, ...warn(`${id} is recorded, and its folder is gone`, 'reef worktree list', fix) };
  });
  const left = found.zombies.map(({ path, why }) => {
    const fix = byHand('reef worktree prune shows what is in it, and with --yes removes what has no work');
    return { check: name, ...warn(`${path} is left over: ${why}`, path, fix) };
  });
  if (lost.length + left.length > 0) return [...lost, ...left];
  const { live, held, foreign } = found;
  const what = `${live.length} live, ${held.length} held, ${foreign.length} of your own`;
  return [{ check: name, ...ok(what, 'reef worktree list') }];
}

const SELF = { self: { pid: process.pid, startTime: '', bootId: '' } };

/** What was begun, and whose process is gone. A daemon that runs has looked at it, or is about to. */
async function abandoned(parts: Parts): Promise<StoredWorktree[]> {
  return (await sceneOf(parts)).rows.filter((row) => isAbandoned(SELF, row));
}

async function intents(parts: Parts): Promise<Found[]> {
  const rows = (await listens(parts.home.socket)) ? [] : await abandoned(parts);
  if (rows.length === 0) return [{ check: 'intents', ...ok('nothing was left half done', 'reef worktree list') }];
  return rows.map(({ id, intent, status, path }) => {
    const isLeft = async () => (await abandoned(parts)).some((row) => row.id === id);
    const what = `${id}: ${intent?.kind ?? status} was begun, and its daemon is gone`;
    return { check: 'intents', ...warn(what, path ?? id, settledByDaemon(parts.client, isLeft)) };
  });
}

/** A git that is killed leaves a lock behind, at which every later one fails. Only those of ours are looked for. */
async function refLocks(parts: Parts): Promise<Found[]> {
  const { place, rows } = await sceneOf(parts);
  const isServed = await listens(parts.home.socket);
  const found: Found[] = [];
  for (const row of rows) {
    for (const ref of refsOf(row)) {
      const lock = await findRefLock(place, ref);
      if (lock === undefined) continue;
      const isLeft = async () => (await findRefLock(place, ref))?.identity === lock.identity;
      const isOurs = isAbandoned(SELF, row) && !isServed;
      const fix = isOurs ? settledByDaemon(parts.client, isLeft) : byHand(`if no git is at work: rm ${lock.path}`);
      found.push({ check: 'ref locks', ...warn(`${ref} is locked`, lock.path, fix) });
    }
  }
  return found.length > 0 ? found : [{ check: 'ref locks', ...ok('none of ours', place.commonDir) }];
}

const MIB = 1_048_576;
const MUCH_MIB = 20 * 1_024;
const MOST_ENTRIES = 200_000;

async function sizes(parts: Parts): Promise<Result> {
  const { folder } = await sceneOf(parts);
  let [bytes, seen] = [0, 0];
  for await (const path of walk(folder)) {
    if (++seen > MOST_ENTRIES) break;
    bytes += (await lstat(path).catch(() => undefined))?.size ?? 0;
  }
  const mib = Math.ceil(bytes / MIB);
  const what = `${seen > MOST_ENTRIES ? 'more than ' : ''}${mib} MiB`;
  if (mib < MUCH_MIB) return ok(what, folder);
  return warn(what, folder, byHand('reef worktree prune, and accept or discard what is done'));
}

const FSCK_MS = 600_000;

async function objects({ git, home }: Parts): Promise<Result> {
  const place = await git.locate(home.repository);
  const args = ['fsck', '--no-dangling', '--no-progress'];
  const { code, stdout } = await git.call(place, args, { timeoutMs: FSCK_MS, okCodes: [0, 1, 2, 3, 4, 5, 6, 7, 8] });
  if (code === 0) return ok('git fsck finds nothing', place.commonDir);
  const said = stdout.toString('utf8').trim().split('\n')[0] ?? '';
  return bad(
    'git fsck finds damage',
    said || `git fsck ended with ${code}`,
    byHand('git fsck, and fetch what is missing'),
  );
}
