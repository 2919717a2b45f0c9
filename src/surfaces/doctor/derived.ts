import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Home } from '../../base/home.ts';
import { parseJson } from '../../base/safe-json.ts';
import { listens } from '../client/start-daemon.ts';
import { readDatabase, verdictOf } from './database.ts';
import { byHand, type Check, type Fix, type Found, ok, warn } from './finding.ts';

interface Parts {
  home: Home;
  deep: boolean;
}

/** What Reef keeps for speed only, and makes again from git and from its own records when it is gone. */
export function derivedChecks(parts: Parts): Check[] {
  const look = async () => {
    const damaged = [...(await damagedIndexes(parts)), ...(await state(parts))];
    return damaged.length > 0 ? settled(parts, damaged) : sized(parts);
  };
  return [{ name: 'derived', look }];
}

interface Damaged {
  what: string;
  files: string[];
}

function settled({ home }: Parts, damaged: readonly Damaged[]): Promise<Found[]> {
  return Promise.all(
    damaged.map(async ({ what, files }) => {
      const fix = (await listens(home.socket))
        ? byHand('reef daemon stop, then reef doctor --fix')
        : remove(home, files);
      return { check: 'derived', ...warn(what, files[0] ?? '', fix) };
    }),
  );
}

function remove({ socket }: Home, files: readonly string[]): Fix {
  const apply = async () => {
    if (await listens(socket)) throw new Error('a daemon uses it by now');
    for (const file of files) await rm(file, { force: true });
  };
  return { does: 'remove it; the next question makes it anew', safe: true, apply };
}

async function indexesOf({ home }: Parts): Promise<string[]> {
  const folder = join(home.dir, 'index');
  const names = await readdir(folder).catch(() => []);
  return names.map((name) => join(folder, name, 'code.db'));
}

/** A store drops by itself what no worktree needs; what is left may still be more than it should (C-024). */
async function sized(parts: Parts): Promise<Found[]> {
  const { timesOutgrown } = await import('../../context/code-index/store/collect.ts');
  const large: Found[] = [];
  for (const file of await indexesOf(parts)) {
    const times = await readDatabase(file, timesOutgrown);
    if (times === undefined) continue;
    const fix = byHand('discard worktrees you no longer need: their code is in it as well');
    large.push({ check: 'derived', ...warn(`a code index is ${times.toFixed(1)} times its source`, file, fix) });
  }
  return large.length > 0 ? large : [{ check: 'derived', ...ok('code index and state can be read', parts.home.dir) }];
}

async function damagedIndexes(parts: Parts): Promise<Damaged[]> {
  const found = await Promise.all(
    (await indexesOf(parts)).map(async (file) => {
      const verdict = await verdictOf(file, parts.deep);
      const isWell = verdict === undefined || verdict === 'ok';
      return isWell ? [] : [{ what: 'a code index is damaged', files: [file, `${file}-wal`, `${file}-shm`] }];
    }),
  );
  return found.flat();
}

async function state({ home }: Parts): Promise<Damaged[]> {
  const file = join(home.dir, 'repostate.json');
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined || parseJson(text).ok) return [];
  return [{ what: 'the state of the checkout cannot be read', files: [file] }];
}
