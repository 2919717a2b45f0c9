import { existsSync } from 'node:fs';
import { lstat, realpath } from 'node:fs/promises';
import { systemClock } from '../../base/clock.ts';
import type { Home } from '../../base/home.ts';
import { KeyedSerial } from '../../base/serial.ts';
import type { Checkout } from '../../git/checkout.ts';
import type { Git } from '../../git/git-command.ts';
import { findRefLock, listRefs } from '../../git/refs.ts';
import { listWorktrees } from '../../git/worktree.ts';
import { Changes } from '../../store/changes.ts';
import { WorktreeTable } from '../../store/worktree-table.ts';
import { classify, look } from '../../worktrees/care/reconcile.ts';
import { isAbandoned, refsOf } from '../../worktrees/care/recover.ts';
import { worktreesFolder } from '../../worktrees/layout.ts';
import type { StoredWorktree } from '../../worktrees/records.ts';
import type { Client } from '../client/client.ts';
import { listens } from '../client/start-daemon.ts';
import { readDatabase } from './database.ts';
import { bad, byHand, type Check, check, ok, type Result, warn } from './finding.ts';
import { restartDaemon, settledByDaemon } from './settle.ts';
import { walk } from './walk.ts';

interface Deps {
  home: Home & { repository: string };
  client: Pick<Client, 'call'>;
  git: Git;
  dataHome: string;
  /** The user's `worktrees.root`, read late: an unreadable configuration is a finding. */
  root(): string | undefined;
  deep: boolean;
}

/** Compares the records of worktrees with git's list, folders, refs and locks. */
export function worktreeChecks(deps: Deps): Check[] {
  return [
    check('worktrees', () => classes(deps)),
    check('intents', () => intents(deps)),
    check('ref locks', () => refLocks(deps)),
    check('worktree sizes', () => sizes(deps)),
    ...(deps.deep ? [check('git objects', () => objects(deps))] : []),
  ];
}

interface Scene {
  checkout: Checkout;
  folder: string;
  rows: StoredWorktree[];
}

async function sceneOf({ home, git, dataHome, root }: Deps): Promise<Scene> {
  const checkout = await git.locate(home.repository);
  const at = root();
  const wanted = worktreesFolder(checkout, { dataHome, ...(at !== undefined && { root: at }) });
  const rows = await readDatabase(home.database, (sqlite) =>
    new WorktreeTable(sqlite, new Changes()).all<StoredWorktree>(checkout.commonDir),
  );
  return { checkout, folder: await realpath(wanted).catch(() => wanted), rows: rows ?? [] };
}

async function classes(deps: Deps): Promise<Result[]> {
  const now = async () => {
    const { checkout, folder, rows } = await sceneOf(deps);
    if (!existsSync(folder)) return undefined;
    const records = { all: () => rows };
    return classify(
      await look({
        git: deps.git,
        checkout,
        clock: systemClock,
        locks: new KeyedSerial(),
        records,
        layout: { folder },
      }),
    );
  };
  const found = await now();
  const scene = await sceneOf(deps);
  const put = await unrecorded(deps, scene);
  if (found === undefined && put.length > 0) return put;
  if (found === undefined) return [ok('none yet', 'reef worktree list')];
  const isServed = await listens(deps.home.socket);
  const isGhost = (id: string) => async () => ((await now())?.ghosts ?? []).includes(id);
  const lost = found.ghosts.map((id) => {
    const fix = isServed ? restartDaemon : settledByDaemon(deps.client, isGhost(id));
    return warn(`${id} is recorded, but its folder is gone`, 'reef worktree list', fix);
  });
  const branches = new Map((await listWorktrees(deps.git, scene.checkout)).map(({ path, branch }) => [path, branch]));
  const left = found.zombies.map(({ path, why }) => {
    const prune = 'reef worktree prune shows what it is; with --yes it removes what holds no work';
    const fix = byHand(`${saves(path, branches.get(path))}${prune}`);
    return warn(`${path} is left over: ${why}`, path, fix);
  });
  if (lost.length + left.length + put.length > 0) return [...lost, ...left, ...put];
  const { live, held, foreign } = found;
  const what = `${live.length} live, ${held.length} held, ${foreign.length} not made by Reef`;
  return [ok(what, 'reef worktree list')];
}

/** What was put aside and no record names any more, as after the loss of the database: git still has it. */
async function unrecorded({ git }: Deps, { checkout, rows }: Scene): Promise<Result[]> {
  const known = new Set(rows.map(({ id }) => id));
  return (await listRefs(git, checkout, 'refs/reef/held')).flatMap(({ ref }) => {
    const id = ref.split('/').at(-1) ?? '';
    const fix = byHand(`git branch saved-${id} ${ref}, then git merge saved-${id}`);
    return known.has(id) ? [] : [warn(`${ref} holds work that no worktree names`, ref, fix)];
  });
}

/** The work in a folder that no record names, by the hand of git. */
function saves(path: string, ref: string | undefined): string {
  if (ref === undefined) return '';
  const branch = ref.replace(/^refs\/heads\//, '');
  return `git -C ${path} add -A && git -C ${path} commit -m saved, then git merge ${branch}, saves its work; `;
}

const SELF = { self: { pid: process.pid, startTime: '', bootId: '' } };

/** Worktrees whose operation was interrupted. A running daemon takes care of them itself. */
async function abandoned(deps: Deps): Promise<StoredWorktree[]> {
  return (await sceneOf(deps)).rows.filter((row) => isAbandoned(SELF, row));
}

async function intents(deps: Deps): Promise<Result[]> {
  const rows = (await listens(deps.home.socket)) ? [] : await abandoned(deps);
  if (rows.length === 0) return [ok('no operation was interrupted', 'reef worktree list')];
  return rows.map(({ id, intent, status, path }) => {
    const isLeft = async () => (await abandoned(deps)).some((row) => row.id === id);
    const what = `${id}: ${intent?.kind ?? status} was interrupted when its daemon ended`;
    return warn(what, path ?? id, settledByDaemon(deps.client, isLeft));
  });
}

/** A killed git leaves a lock behind, and every later git fails because of it. Only locks of Reef's own refs count. */
async function refLocks(deps: Deps): Promise<Result[]> {
  const { checkout, rows } = await sceneOf(deps);
  const isServed = await listens(deps.home.socket);
  const found: Result[] = [];
  for (const row of rows) {
    for (const ref of refsOf(row)) {
      const lock = await findRefLock(checkout, ref);
      if (lock === undefined) continue;
      const isLeft = async () => (await findRefLock(checkout, ref))?.identity === lock.identity;
      const isOurs = isAbandoned(SELF, row) && !isServed;
      const fix = isOurs ? settledByDaemon(deps.client, isLeft) : byHand(`if no git is running: rm ${lock.path}`);
      found.push(warn(`${ref} is locked`, lock.path, fix));
    }
  }
  return found.length > 0 ? found : [ok('none on refs of Reef', checkout.commonDir)];
}

const MIB = 1_048_576;
const MUCH_MIB = 20 * 1_024;
const MOST_ENTRIES = 200_000;

async function sizes(deps: Deps): Promise<Result> {
  const { folder } = await sceneOf(deps);
  let [bytes, seen] = [0, 0];
  for await (const path of walk(folder)) {
    if (++seen > MOST_ENTRIES) break;
    bytes += (await lstat(path).catch(() => undefined))?.size ?? 0;
  }
  const mib = Math.ceil(bytes / MIB);
  const what = `${seen > MOST_ENTRIES ? 'more than ' : ''}${mib} MiB`;
  if (mib < MUCH_MIB) return ok(what, folder);
  return warn(what, folder, byHand('reef worktree prune; then accept or discard worktrees that are done'));
}

const FSCK_MS = 600_000;

async function objects({ git, home }: Deps): Promise<Result> {
  const checkout = await git.locate(home.repository);
  const args = ['fsck', '--no-dangling', '--no-progress'];
  const { code, stdout } = await git.call(checkout, args, { timeoutMs: FSCK_MS, okCodes: [0, 1, 2, 3, 4, 5, 6, 7, 8] });
  if (code === 0) return ok('git fsck finds no damage', checkout.commonDir);
  const said = stdout.toString('utf8').trim().split('\n')[0] ?? '';
  return bad(
    'git fsck finds damage',
    said || `git fsck ended with ${code}`,
    byHand('run git fsck, and fetch the missing objects'),
  );
}
