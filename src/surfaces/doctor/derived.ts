import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Home } from '../../base/home.ts';
import { parseJson } from '../../base/safe-json.ts';
import { listens } from '../client/start-daemon.ts';
import { readDatabase, verdictOf } from './database.ts';
import { byHand, type Check, check, type DoctorDeps, type Fix, ok, type Result, warn } from './finding.ts';

type Deps = Pick<DoctorDeps, 'home' | 'deep'>;

/** Files that Reef keeps only for speed, and can make again from git and its own records. */
export function derivedChecks(deps: Deps): Check[] {
  const look = async () => {
    const damaged = [...(await damagedIndexes(deps)), ...(await state(deps))];
    return damaged.length > 0 ? settled(deps, damaged) : sized(deps);
  };
  return [check('derived', look)];
}

interface Damaged {
  what: string;
  files: string[];
}

function settled({ home }: Deps, damaged: readonly Damaged[]): Promise<Result[]> {
  return Promise.all(
    damaged.map(async ({ what, files }) => {
      const fix = (await listens(home.socket))
        ? byHand('reef daemon stop, then reef doctor --fix')
        : remove(home, files);
      return warn(what, files[0] ?? '', fix);
    }),
  );
}

function remove({ socket }: Home, files: readonly string[]): Fix {
  const apply = async () => {
    if (await listens(socket)) throw new Error('a daemon uses it now');
    for (const file of files) await rm(file, { force: true });
  };
  return { does: 'remove it; Reef makes it again when it needs it', safe: true, apply };
}

async function indexesOf({ home }: Deps): Promise<string[]> {
  const folder = join(home.dir, 'index');
  const names = await readdir(folder).catch(() => []);
  return names.map((name) => join(folder, name, 'code.db'));
}

/** An index drops what no worktree needs. It may still grow larger than it should. */
async function sized(deps: Deps): Promise<Result[]> {
  const { timesOutgrown } = await import('../../context/code-index/collect.ts');
  const large: Result[] = [];
  for (const file of await indexesOf(deps)) {
    const times = await readDatabase(file, timesOutgrown);
    if (times === undefined) continue;
    const fix = byHand('discard worktrees you no longer need: reef discard ID');
    large.push(warn(`a code index is ${times.toFixed(1)} times as large as its source`, file, fix));
  }
  return large.length > 0 ? large : [ok('the code index and the state are readable', deps.home.dir)];
}

async function damagedIndexes(deps: Deps): Promise<Damaged[]> {
  const found = await Promise.all(
    (await indexesOf(deps)).map(async (file) => {
      const verdict = await verdictOf(file, deps.deep);
      const isWell = verdict === undefined || verdict === 'ok';
      return isWell ? [] : [{ what: 'a code index is damaged', files: [file, `${file}-wal`, `${file}-shm`] }];
    }),
  );
  return found.flat();
}

async function state({ home }: Deps): Promise<Damaged[]> {
  const folder = join(home.dir, 'repostate');
  const files = (await readdir(folder).catch(() => [])).map((name) => join(folder, name, 'repostate.json'));
  const found = await Promise.all(
    files.map(async (file) => {
      const text = await readFile(file, 'utf8').catch(() => undefined);
      const isWell = text === undefined || parseJson(text).ok;
      return isWell ? [] : [{ what: 'the state of a worktree is not readable', files: [file] }];
    }),
  );
  return found.flat();
}
