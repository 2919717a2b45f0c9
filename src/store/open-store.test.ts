import { readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { aJob, aQuestion } from '../../test/support/job-storage.ts';
import { manualClock } from '../../test/support/manual-clock.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { verifies } from '../../test/support/verifies.ts';
import { createLogger } from '../base/log.ts';
import { openSqlite } from './driver.ts';
import { openStore } from './open-store.ts';
import { type Snapshot, SnapshotFile } from './snapshot-file.ts';
import { Store } from './store.ts';

let dir: string;
let files: { database: string; snapshot: string };
let logged: { level: string; message: string }[];
beforeEach(() => {
  dir = temporaryFolder();
  files = { database: join(dir, 'reef.db'), snapshot: join(dir, 'state.json') };
  logged = [];
});

function open(): Promise<Store> {
  const clock = manualClock();
  const write = (line: string) => {
    const { level, message } = JSON.parse(line) as { level: string; message: string };
    logged.push({ level, message });
  };
  const log = createLogger({ write, clock, redact: (text) => text });
  return openStore(files, { hook: new SnapshotFile(files.snapshot), clock, log });
}

const event = (seq: number, agentId: string) => ({
  seq,
  timestamp: '2026-01-01T00:00:00.000Z',
  agentId,
  type: 'progress' as const,
  payload: { kind: 'text', text: String(seq) },
});
const asked = { jobId: 'A', launch: 1, askedAt: '2026-01-01T00:00:00.000Z', line: { offset: 12, bytes: 34 } };
const snapshot: Snapshot = {
  version: 1,
  writtenAt: '2026-01-01T00:00:00.000Z',
  lastSeq: 7,
  active: [aJob('A', { status: 'awaiting_input' }), aJob('B', { status: 'queued' })],
  completed: [aJob('D', { status: 'completed' }), aJob('C', { status: 'killed' })],
  tails: {
    A: [event(2, 'A'), event(5, 'A')],
    B: [event(6, 'B')],
    C: [event(3, 'C')],
    D: [event(4, 'D'), event(7, 'D')],
  },
  runtimes: {
    A: { read: { out: 46, err: 0 } },
    B: { read: { out: 0, err: 0 } },
    C: { lastText: 'c' },
    D: { lastText: 'd' },
  },
  questions: [
    { ...asked, question: aQuestion('0#0'), state: 'open' },
    { ...asked, question: aQuestion('0#1'), state: 'answered', answer: { by: 'me' } },
  ],
  outbox: [{ key: 'B:task', jobId: 'B', ref: 'B:task', state: 'new', doc: { kind: 'message', text: 'do it' } }],
};

/** Everything the snapshot is about, as the store has it. */
function contents(store: Store) {
  const { jobs, events, questions, outbox } = store;
  const records = [...jobs.live(), ...jobs.lastEnded(20)];
  return {
    lastSeq: events.lastSeq(),
    active: jobs.live().map((record) => record.job),
    completed: jobs.lastEnded(20).map((record) => record.job),
    tails: Object.fromEntries(records.map((record) => [record.job.id, events.tail(record.job.id, 200)])),
    runtimes: Object.fromEntries(records.map((record) => [record.job.id, record.runtime])),
    questions: records.flatMap((record) => questions.unclosedOf(record.job.id)),
    outbox: records.flatMap((record) => outbox.open(record.job.id)),
  };
}
const { version: _version, writtenAt: _writtenAt, ...known } = snapshot;
/** What comes back, and the one event that says so. */
const told = { ...known, lastSeq: known.lastSeq + 1 };
/** The events that are about the home itself. */
const toldOfHome = (store: Store) =>
  store.events.ofJob({ jobId: 'reef', after: 0, limit: 10 }).map(({ type, payload }) => ({ type, payload }));
const names = () =>
  readdirSync(dir)
    .filter((name) => !/-(wal|shm)$/.test(name))
    .sort();

/** A store with many events and its log written back, so that damage to the file is damage to the data. */
function fill(): void {
  const store = new Store(files.database);
  store.commit(() => {
    store.jobs.insert({ job: aJob('A', { status: 'running' }), runtime: {} });
    const payload = JSON.stringify({ kind: 'text', text: 'x'.repeat(500) });
    for (let n = 0; n < 2000; n++) {
      store.events.append({ at: '2026-01-01T00:00:00.000Z', jobId: 'A', type: 'progress', payload });
    }
  });
  store.close();
}
const ASIDE = 'reef.db.bad-2026-01-01T00-00-00.000Z';

describe('a home', () => {
  test('that is new opens empty and says nothing', async () => {
    const store = await open();
    expect({ lastSeq: store.events.lastSeq(), names: names(), logged }).toEqual({
      lastSeq: 0,
      names: ['reef.db'],
      logged: [],
    });
    store.close();
  });

  test('that is whole is opened as it is, and its snapshot left alone', async () => {
    await new SnapshotFile(files.snapshot).save(snapshot);
    const first = new Store(files.database);
    first.commit(() => {
      for (let n = 0; n < snapshot.lastSeq; n++) {
        first.events.append({ at: 'now', jobId: 'Z', type: 'progress', payload: '{}' });
      }
    });
    first.close();
    const store = await open();
    expect({ jobs: store.jobs.live(), lastSeq: store.events.lastSeq(), logged }).toEqual({
      jobs: [],
      lastSeq: snapshot.lastSeq,
      logged: [],
    });
    store.close();
  });
});

describe('a database', () => {
  const damage: [string, () => void][] = [
    ['that is no database', () => writeFileSync(files.database, 'no database '.repeat(500))],
    [
      'with a torn header',
      () =>
        writeFileSync(
          files.database,
          Buffer.concat([Buffer.alloc(100, 0xff), readFileSync(files.database).subarray(100)]),
        ),
    ],
    ['that lost its second half', () => truncateSync(files.database, 4096 * 40)],
    [
      'with garbage in its pages',
      () => {
        const bytes = readFileSync(files.database);
        writeFileSync(files.database, bytes.fill(0x5a, 4096 * 3));
      },
    ],
  ];
  for (const [what, harm] of damage) {
    verifies('Q-12').test(`${what} is set aside and rebuilt from the snapshot, and that is told`, async () => {
      fill();
      harm();
      await new SnapshotFile(files.snapshot).save(snapshot);
      const store = await open();
      expect({ contents: contents(store), names: names(), logged }).toEqual({
        contents: told,
        names: ['reef.db', ASIDE, 'state.json'],
        logged: [
          { level: 'error', message: 'the database is damaged and was set aside' },
          { level: 'warn', message: 'the database was rebuilt from state.json' },
        ],
      });
      store.close();
    });
  }

  verifies('Q-12').test('that is gone is rebuilt from the snapshot, and that is told', async () => {
    await new SnapshotFile(files.snapshot).save(snapshot);
    const store = await open();
    expect({ contents: contents(store), logged }).toEqual({
      contents: told,
      logged: [{ level: 'warn', message: 'the database was rebuilt from state.json' }],
    });
    store.close();
  });

  verifies('Q-12').test('is rebuilt once: the next start goes on from there, in seq too', async () => {
    await new SnapshotFile(files.snapshot).save(snapshot);
    (await open()).close();
    logged = [];
    const store = await open();
    const seq = store.commit(() => store.events.append({ at: 'now', jobId: 'A', type: 'progress', payload: '{}' }));
    expect({ seq, logged }).toEqual({ seq: 9, logged: [] });
    store.close();
  });

  verifies('Q-12').test('that is damaged without any snapshot opens empty, but not in silence', async () => {
    writeFileSync(files.database, 'no database '.repeat(500));
    const store = await open();
    expect({ lastSeq: store.events.lastSeq(), names: names(), logged }).toEqual({
      lastSeq: 1,
      names: ['reef.db', ASIDE],
      logged: [{ level: 'error', message: 'the database is damaged and was set aside' }],
    });
    store.close();
  });

  test('set aside twice within a moment keeps both', async () => {
    for (let n = 0; n < 2; n++) {
      writeFileSync(files.database, `no database ${n} `.repeat(500));
      (await open()).close();
    }
    expect(names()).toEqual(['reef.db', ASIDE, `${ASIDE}-2`]);
  });

  verifies('Q-07').test('that is newer than this program is not touched', async () => {
    fill();
    const database = openSqlite(files.database);
    database.pragma('user_version = 99');
    database.close();
    const before = readFileSync(files.database);
    await expect(open()).rejects.toMatchObject({ code: 'store_too_new' });
    expect({ isSame: readFileSync(files.database).equals(before), names: names() }).toEqual({
      isSame: true,
      names: ['reef.db'],
    });
  });
});

describe('a snapshot', () => {
  const bad: [string, string][] = [
    ['that is torn', JSON.stringify(snapshot).slice(0, 300)],
    ['that is empty', ''],
    ['of another version', JSON.stringify({ ...snapshot, version: 2 })],
    ['with a job that is none', JSON.stringify({ ...snapshot, active: [{ id: 'A' }] })],
    ['that is an empty list', '[]'],
  ];
  for (const [what, text] of bad) {
    verifies('Q-12', 'A-146').test(`${what} is set aside, never taken for an empty one`, async () => {
      writeFileSync(files.snapshot, text);
      const store = await open();
      const aside = 'state.json.bad-2026-01-01T00-00-00.000Z';
      expect({ names: names(), kept: readFileSync(join(dir, aside), 'utf8'), logged }).toEqual({
        names: ['reef.db', aside],
        kept: text,
        logged: [{ level: 'error', message: 'state.json cannot be read and was set aside' }],
      });
      store.close();
    });
  }

  verifies('Q-12').test('and database, both damaged, are both set aside and told of', async () => {
    writeFileSync(files.snapshot, '{');
    writeFileSync(files.database, 'no database '.repeat(500));
    const store = await open();
    const message = 'state.json cannot be read and was set aside; the database is damaged and was set aside';
    expect({ names: names(), levels: logged.map(({ level }) => level), told: toldOfHome(store) }).toEqual({
      names: ['reef.db', ASIDE, 'state.json.bad-2026-01-01T00-00-00.000Z'],
      levels: ['error', 'error'],
      told: [
        { type: 'error', payload: { code: 'store_damaged', message, fatal: false, scope: 'line', retryable: false } },
      ],
    });
    store.close();
  });

  test('is read back as it was written', async () => {
    const file = new SnapshotFile(files.snapshot);
    const before = await file.load();
    await file.save(snapshot);
    expect([before, await file.load()]).toEqual([null, snapshot]);
  });
});
