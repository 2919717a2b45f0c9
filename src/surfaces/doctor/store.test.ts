import { existsSync } from 'node:fs';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { systemClock } from '../../base/clock.ts';
import { readEnvironment } from '../../base/env.ts';
import { homeAt } from '../../base/home.ts';
import { createLogger } from '../../base/log.ts';
import { holdLock } from '../../store/home-lock.ts';
import { openStore } from '../../store/open-store.ts';
import { type Snapshot, SnapshotFile } from '../../store/snapshot-file.ts';
import { Store } from '../../store/store.ts';
import { examine } from './finding.ts';
import { storeChecks } from './store.ts';

let dir: string;
beforeEach(() => {
  dir = temporaryFolder();
});

const home = () => homeAt(dir, readEnvironment({}));
const log = createLogger({ write: () => {}, clock: systemClock, redact: (text) => text });

/** What a daemon does with its files as it starts. */
async function start(): Promise<void> {
  const { database, snapshot } = home();
  const hook = new SnapshotFile(snapshot);
  (await openStore({ database, snapshot }, { hook, clock: systemClock, log })).close();
}

const client = {
  call: async () => {
    await start();
    return {} as never;
  },
};

async function look({ fix = false, deep = false } = {}) {
  const findings = await examine(storeChecks({ home: home(), client, deep }), { fix });
  return Object.fromEntries(findings.map(({ check, severity, what }) => [check, [severity, what]]));
}

function snapshotAt(lastSeq: number): Snapshot {
  const lists = { active: [], completed: [], questions: [], outbox: [] };
  return { version: 1, writtenAt: '2026-11-15T00:00:00.000Z', lastSeq, ...lists, tails: {}, runtimes: {} };
}

function addEvent(): void {
  const store = new Store(home().database);
  store.commit(() =>
    store.events.append({ at: '2026-11-15T00:00:00.000Z', jobId: 'j', type: 'progress', payload: '{}' }),
  );
  store.close();
}

const WELL = {
  lock: ['ok', 'free'],
  database: ['ok', 'quick_check ok'],
  snapshot: ['ok', 'none yet'],
  'set aside': ['ok', 'nothing'],
};

verifies('Q-100', 'Q-101').test('a home without a database is well and stays without', async () => {
  expect(await look()).toEqual({ ...WELL, database: ['ok', 'none yet'] });
  expect(await readdir(dir)).toEqual([]);
});

verifies('Q-100').test(
  'lock and database are told well, read whole when asked, or in the hands of one that hangs',
  async () => {
    const store = new Store(home().database);
    const lock = holdLock(home().lock);
    expect((await look()).lock).toEqual(['error', 'held by a daemon that does not answer']);
    lock.release();
    store.close();
    expect(await look()).toEqual(WELL);
    expect((await look({ deep: true })).database).toEqual(['ok', 'integrity_check ok']);
  },
);

const DAMAGES: Record<string, (bytes: Buffer) => string | Buffer> = {
  'its first page': (bytes) => bytes.fill(0xff, 100, 4_096),
  // The daemon opens such a file without a word; only reading it shows the damage.
  'a page inside': (bytes) => bytes.fill(0xff, bytes.length - 4_096),
  'all of it': () => 'not a database',
};

for (const [where, damage] of Object.entries(DAMAGES)) {
  verifies('Q-100', 'Q-102', 'Q-103').test(
    `a database damaged in ${where} is named, kept aside and made anew`,
    async () => {
      addEvent();
      const damaged = Buffer.from(damage(await readFile(home().database)));
      await writeFile(home().database, damaged);
      expect((await look()).database).toEqual(['error', 'damaged']);
      expect(await readFile(home().database)).toEqual(damaged);
      expect((await look({ fix: true })).database).toEqual(['ok', 'damaged: fixed']);
      const [aside = ''] = (await readdir(dir)).filter((name) => name.startsWith('reef.db.bad-'));
      expect(await readFile(join(dir, aside))).toEqual(damaged);
      // What was set aside stays on the list until a person has looked at it.
      const left = { 'set aside': ['warn', `${aside} was damaged and has been replaced`] };
      expect([await look({ fix: true }), await look()]).toEqual([
        { ...WELL, ...left },
        { ...WELL, ...left },
      ]);
      expect(existsSync(join(dir, aside))).toBe(true);
    },
  );
}

verifies('Q-100', 'Q-103').test(
  'a snapshot is held against the database: behind, ahead, or all that is left',
  async () => {
    const file = new SnapshotFile(home().snapshot);
    addEvent();
    await file.save(snapshotAt(1));
    expect((await look()).snapshot).toEqual(['ok', 'has 1 of 1 events']);
    await file.save(snapshotAt(5));
    expect((await look({ fix: true })).snapshot).toEqual(['error', 'the database is older than the snapshot']);
    await rm(home().database);
    expect((await look()).snapshot).toEqual(['error', 'the database is gone, but the snapshot is still there']);
  },
);

verifies('Q-100', 'Q-103').test(
  'a snapshot that cannot be read is named, and set aside by the next daemon',
  async () => {
    addEvent();
    await writeFile(home().snapshot, '{ "version": 1, "wri');
    expect((await look()).snapshot).toEqual(['warn', 'not readable']);
    expect((await look({ fix: true })).snapshot).toEqual(['ok', 'not readable: fixed']);
    const { snapshot, 'set aside': aside } = await look();
    expect([snapshot, aside?.[1]]).toEqual([['ok', 'none yet'], expect.stringMatching(/^state\.json\.bad-/)]);
  },
);
