import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Home } from '../../base/home.ts';
import { parseJson } from '../../base/safe-json.ts';
import { listens } from '../client/start-daemon.ts';
import { verdictOf } from './database.ts';
import { byHand, type Check, type Fix, type Found, ok, warn } from './finding.ts';

interface Parts {
  home: Home;
  deep: boolean;
}

/** What Reef keeps for speed only, and makes again from git and from its own records when it is gone. */
export function derivedChecks(parts: Parts): Check[] {
  return [{ name: 'derived', look: async () => settled(parts, [...(await indexes(parts)), ...(await state(parts))]) }];
}

interface Damaged {
  what: string;
  files: string[];
}

function settled({ home }: Parts, damaged: readonly Damaged[]): Promise<Found[]> | Found[] {
  if (damaged.length === 0) return [{ check: 'derived', ...ok('code index and state can be read', home.dir) }];
  return Promise.all(
    damaged.map(async ({ what, files }) => {
      const fix = (await listens(home.socket)) ? byHand('reef daemon stop, then reef doctor --fix') : remove(files);
      return { check: 'derived', ...warn(what, files[0] ?? '', fix) };
    }),
  );
}

function remove(files: readonly string[]): Fix {
  const apply = async () => {
    for (const file of files) await rm(file, { force: true });
  };
  return { does: 'remove it; the next question makes it anew', safe: true, apply };
}

async function indexes({ home, deep }: Parts): Promise<Damaged[]> {
  const folder = join(home.dir, 'index');
  const names = await readdir(folder).catch(() => []);
  const found = await Promise.all(
    names.map(async (name) => {
      const file = join(folder, name, 'code.db');
      const verdict = await verdictOf(file, deep);
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
