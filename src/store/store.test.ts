import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { aJob, aQuestion } from '../../test/support/job-storage.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { verifies } from '../../test/support/verifies.ts';
import { ReefError } from '../protocol/errors.ts';
import type { Job } from '../protocol/jobs.ts';
import { openSqlite } from './driver.ts';
import { holdLock, isLocked } from './home-lock.ts';
import type { JobRecord } from './job-table.ts';
import { migrate } from './migrations.ts';
import { isDamaged } from './open-database.ts';
import { Store } from './store.ts';

let dir: string;
beforeEach(() => {
  dir = temporaryFolder();
});

const event = (n: number, jobId = 'a') => ({
  at: `2026-01-01T00:00:0${n % 10}.000Z`,
  jobId,
  type: 'progress' as const,
  payload: `{"n":${n}}`,
});

test('a transaction that fails leaves no event and no gap in seq', () => {
  const store = new Store(join(dir, 'db'));
  store.record(() => store.events.append(event(1)));
  expect(() =>
    store.record(() => {
      store.events.append(event(2));
      throw new Error('no');
    }),
  ).toThrow('no');
  const seq = store.record(() => store.events.append(event(3)));
  const seen = store.events.ofJob({ jobId: 'a', after: 0, limit: 10 }).map((e) => [e.seq, e.payload]);
  store.close();
  expect({ seq, seen }).toEqual({
    seq: 2,
    seen: [
      [1, { n: 1 }],
      [2, { n: 3 }],
    ],
  });
});

test('what was committed is there after opening again', () => {
  const first = new Store(join(dir, 'db'));
  first.commit(() => {
    first.events.append(event(1));
    first.outbox.insert({ key: 'k', jobId: 'a', ref: 'm', state: 'new', doc: { kind: 'x' } });
  });
  first.close();
  const second = new Store(join(dir, 'db'));
  const seen = { last: second.events.lastSeq(), open: second.outbox.open('a') };
  second.close();
  expect(seen).toEqual({ last: 1, open: [{ key: 'k', jobId: 'a', ref: 'm', state: 'new', doc: { kind: 'x' } }] });
});

test('a known key adds nothing to the outbox', () => {
  const store = new Store(join(dir, 'db'));
  const row = { key: 'k', jobId: 'a', ref: 'm', state: 'new' as const, doc: 1 };
  const added = [store.outbox.insert(row), store.outbox.insert({ ...row, doc: 2 })];
  const kept = store.outbox.get('k')?.doc;
  store.close();
  expect({ added, kept }).toEqual({ added: [true, false], kept: 1 });
});

verifies('Q-07').test('a migration that fails keeps the old schema, and a newer one is not touched', () => {
  const path = join(dir, 'db');
  const database = openSqlite(path);
  const good = 'CREATE TABLE one (x)';
  migrate(database, [good]);
  expect(() => migrate(database, [good, 'CREATE TABLE two (x); CREATE TABLE one (x)'])).toThrow('one');
  const tables = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
  expect({ tables, version: database.pragma('user_version') }).toEqual({ tables: [{ name: 'one' }], version: 1 });
  database.pragma('user_version = 99');
  expect(() => migrate(database, [good])).toThrow(expect.objectContaining({ code: 'store_too_new' }));
  database.close();
});

verifies('Q-12').test('a file that is no database is recognised as damaged', () => {
  const path = join(dir, 'db');
  writeFileSync(path, 'this is not a database, but it is long enough to have a header of one '.repeat(20));
  let error: unknown;
  try {
    new Store(path);
  } catch (caught) {
    error = caught;
  }
  expect(isDamaged(error)).toBe(true);
});

test('only one holder of a lock, and none after it is released', () => {
  const path = join(dir, 'lock');
  const lock = holdLock(path);
  // A second connection of one process stands for another process: SQLite's locks know the difference.
  const held = isLocked(path);
  lock.release();
  expect({ held, after: isLocked(path) }).toEqual({ held: true, after: false });
});

const job = (id: string, more: Partial<Job> = {}) => aJob(id, { launch: 0, status: 'queued', ...more });
const ids = (records: JobRecord[]) => records.map((record) => record.job.id);

describe('events', () => {
  verifies('J-41').test('the log keeps its identity when it is synced and opened again, and two logs have two', () => {
    const path = join(dir, 'identity');
    const store = new Store(path);
    const { logId } = store.events;
    store.record(() => store.events.append({ at: '', jobId: 'J', type: 'progress', payload: '{}' }));
    store.sync();
    store.close();
    const again = new Store(path);
    const other = new Store(join(dir, 'other'));
    expect([again.events.logId === logId, other.events.logId === logId]).toEqual([true, false]);
    again.close();
    other.close();
  });

  verifies('Q-83').test('fifty times as many of them make opening, lists and pages hardly slower', () => {
    const cost = (count: number) => {
      const path = join(dir, `stored-${count}`);
      const filled = new Store(path);
      filled.record(() => {
        for (let n = 0; n < count; n++)
          filled.events.append({ at: new Date(n).toISOString(), jobId: `J${n % 20}`, type: 'progress', payload: '{}' });
      });
      filled.close();
      const store = new Store(path);
      const before = process.cpuUsage();
      for (let n = 0; n < 50; n++) {
        new Store(path).close();
        for (let job = 0; job < 20; job++) {
          store.events.tail(`J${job}`, 8);
          store.events.ofJob({ jobId: `J${job}`, after: 5, limit: 20 });
        }
        store.events.ofAll({ after: count - 100, limit: 100 });
        store.events.firstSeqSince(new Date(count - 10).toISOString());
      }
      const { user, system } = process.cpuUsage(before);
      store.close();
      return user + system;
    };
    cost(1_000); // whatever is compiled at the first call
    const [few, many] = [cost(1_000), cost(50_000)];
    expect(many / few).toBeLessThan(3);
  });

  verifies('Q-04').test('are found by their time after a rollback, and in a database from before', () => {
    const path = join(dir, 'times');
    const store = new Store(path);
    const append = (at: string) => store.events.append({ at, jobId: 'J', type: 'progress', payload: '{}' });
    const undone = () =>
      store.record(() => {
        append('2026-01-02');
        throw new Error('undone');
      });
    store.record(() => append('2026-01-01'));
    expect(undone).toThrow('undone');
    store.record(() => ['2026-01-02', '2026-01-02', '2026-01-03'].map(append));
    const seen = () => ['2025', '2026-01-02', '2026-01-03', '2027'].map((at) => store.events.firstSeqSince(at));
    expect(seen()).toEqual([1, 2, 4, undefined]);
    store.close();
    const before = openSqlite(path);
    const version = Number(before.pragma('user_version'));
    before.exec('DROP TABLE moment; CREATE INDEX event_at ON event (at)');
    before.pragma(`user_version = ${version - 1}`);
    before.close();
    const after = new Store(path);
    expect(['2025', '2026-01-02', '2027'].map((at) => after.events.firstSeqSince(at))).toEqual([1, 2, undefined]);
    after.close();
  });
});

describe('jobs', () => {
  test('are found by id, by key and by a beginning, and the newest by its time', () => {
    const store = new Store(join(dir, 'db'));
    const records = ['01AA1', '01AA2', '01BB1'].map((id) => ({ job: job(id), runtime: { n: id } }));
    store.commit(() => {
      for (const [index, record] of records.entries()) store.jobs.insert(record, index === 1 ? 'key' : undefined);
    });
    const seen = {
      byId: store.jobs.get('01AA1'),
      byKey: store.jobs.byKey('key'),
      none: [store.jobs.get('01'), store.jobs.byKey('other')],
      prefixes: ['01A', '01B', '01BB1', '02', '%'].map((prefix) => store.jobs.idsByPrefix(prefix)),
      newest: store.jobs.newestId(),
    };
    store.close();
    expect(seen).toEqual({
      byId: records[0],
      byKey: records[1],
      none: [undefined, undefined],
      prefixes: [['01AA1', '01AA2'], ['01BB1'], ['01BB1'], [], []],
      newest: '01BB1',
    });
  });

  test('of one key are one job', () => {
    const store = new Store(join(dir, 'db'));
    const insert = (id: string) => store.commit(() => store.jobs.insert({ job: job(id), runtime: {} }, 'key'));
    insert('A');
    expect(() => insert('B')).toThrow(expect.objectContaining({ code: 'storage_unavailable' }));
    const all = ids(store.jobs.live());
    store.close();
    expect(all).toEqual(['A']);
  });

  verifies('A-25').test(
    'that are over stand in the order of their ends, and leave the list when they live again',
    () => {
      const store = new Store(join(dir, 'db'));
      const statuses = [
        'completed',
        'error',
        'killed',
        'stale',
        'running',
        'paused',
        'awaiting_input',
        'queued',
      ] as const;
      store.commit(() => {
        for (const status of statuses) store.jobs.insert({ job: job(status, { status }), runtime: {} });
      });
      const end = (id: string, status: Job['status'], seq: number | null) =>
        store.commit(() => store.jobs.update({ job: job(id, { status }), runtime: {} }, seq));
      end('stale', 'stale', 5);
      end('completed', 'completed', 9);
      end('error', 'error', 7);
      end('killed', 'killed', 8);
      const before = {
        live: ids(store.jobs.live()),
        ended: ids(store.jobs.lastEnded(20)),
        three: ids(store.jobs.lastEnded(3)),
      };
      end('error', 'queued', null);
      const after = { ended: ids(store.jobs.lastEnded(20)), queued: store.jobs.queuedCount() };
      store.close();
      expect({ before, after }).toEqual({
        before: {
          live: ['awaiting_input', 'paused', 'queued', 'running'],
          ended: ['completed', 'killed', 'error', 'stale'],
          three: ['completed', 'killed', 'error'],
        },
        after: { ended: ['completed', 'killed', 'stale'], queued: 2 },
      });
    },
  );

  test('know their children', () => {
    const store = new Store(join(dir, 'db'));
    store.commit(() => {
      for (const id of ['p', 'c2', 'c1', 'g'])
        store.jobs.insert({ job: job(id, id === 'p' ? {} : { parentId: id === 'g' ? 'c1' : 'p' }), runtime: {} });
    });
    const children = ['p', 'c1', 'g'].map((id) => ids(store.jobs.childrenOf(id)));
    store.close();
    expect(children).toEqual([['c1', 'c2'], ['g'], []]);
  });
});

describe('a question', () => {
  const id = { jobId: 'A', questionId: '0#0' };
  const row = {
    jobId: 'A',
    launch: 1,
    question: aQuestion('0#0'),
    state: 'open' as const,
    askedAt: '2026-01-01T00:00:00.000Z',
    line: { offset: 5, bytes: 7 },
  };

  verifies('X-56').test('is answered once: of many that try, one is first', () => {
    const store = new Store(join(dir, 'db'));
    const won = store.commit(() => {
      store.questions.insert(row);
      const answer = (n: number) =>
        store.questions.move(id, 'open', { state: 'answered', answer: { by: `person ${n}` } });
      return Array.from({ length: 100 }, (_, n) => answer(n)).filter(Boolean).length;
    });
    const kept = store.questions.get('A', '0#0');
    store.close();
    expect({ won, kept }).toEqual({ won: 1, kept: { ...row, state: 'answered', answer: { by: 'person 0' } } });
  });

  test('leaves the inbox when it is answered, and the list of its job when it is closed', () => {
    const store = new Store(join(dir, 'db'));
    const seen = () => [store.questions.open().length, store.questions.unclosedOf('A').length];
    const steps: number[][] = [];
    store.commit(() => {
      store.questions.insert(row);
      steps.push(seen());
      store.questions.move(id, 'open', { state: 'answered', answer: 1 });
      steps.push(seen());
      store.questions.move(id, 'answered', { state: 'closed' });
      steps.push(seen());
    });
    const kept = store.questions.get('A', '0#0');
    store.close();
    expect({ steps, kept }).toEqual({
      steps: [
        [1, 1],
        [0, 1],
        [0, 0],
      ],
      kept: { ...row, state: 'closed', answer: 1 },
    });
  });

  test('of a later launch takes the place of one with the same id', () => {
    const store = new Store(join(dir, 'db'));
    store.commit(() => {
      store.questions.insert({ ...row, state: 'closed', answer: 1 });
      store.questions.insert({ ...row, launch: 2 });
    });
    const kept = store.questions.get('A', '0#0');
    store.close();
    expect(kept).toEqual({ ...row, launch: 2 });
  });
});

describe('the outbox', () => {
  test('keeps its order, and what is done with leaves it', () => {
    const store = new Store(join(dir, 'db'));
    const states = ['new', 'writing', 'written', 'delivered', 'failed'] as const;
    store.commit(() => {
      for (const key of ['e', 'd', 'c', 'b', 'a'])
        store.outbox.insert({ key, jobId: 'A', ref: key, state: 'new', doc: { key } });
      for (const [index, key] of ['e', 'd', 'c', 'b', 'a'].entries()) store.outbox.move(key, states[index] ?? 'new');
      store.outbox.move('d', 'writing', { key: 'd', size: 9 });
    });
    const open = store.outbox.open('A').map(({ key, state, doc }) => [key, state, doc]);
    store.close();
    expect(open).toEqual([
      ['e', 'new', { key: 'e' }],
      ['d', 'writing', { key: 'd', size: 9 }],
      ['c', 'written', { key: 'c' }],
    ]);
  });
});

test('a grant is for one job and one fingerprint, and the first to give it is remembered', () => {
  const store = new Store(join(dir, 'db'));
  store.commit(() => {
    for (const by of ['first', 'second']) store.grants.insert({ fingerprint: 'f', jobId: 'A', at: 'now', by });
  });
  const found = [
    ['f', 'A'],
    ['f', 'B'],
    ['g', 'A'],
  ].map(([print = '', id = '']) => store.grants.find(print, id));
  store.close();
  expect(found).toEqual(['first', undefined, undefined]);
});

test('the audit keeps what was done in its order', () => {
  const store = new Store(join(dir, 'db'));
  store.audit.append('t1', { by: 'me', surface: 'cli', operation: 'kill', target: 'A', outcome: 'ok' });
  store.audit.append('t2', { by: 'me', surface: 'cli', operation: 'wait', outcome: 'job_not_found' });
  store.close();
  const database = openSqlite(join(dir, 'db'), 'read');
  const all = database.prepare('SELECT * FROM audit ORDER BY seq').all();
  database.close();
  expect(all).toEqual([
    { seq: 1, at: 't1', by: 'me', surface: 'cli', operation: 'kill', target: 'A', outcome: 'ok' },
    { seq: 2, at: 't2', by: 'me', surface: 'cli', operation: 'wait', target: null, outcome: 'job_not_found' },
  ]);
});

describe('a transaction', () => {
  test('that the database refuses is storage_unavailable, retryable, and the next one works', () => {
    const path = join(dir, 'db');
    const store = new Store(path);
    const other = openSqlite(path);
    store.commit(() => store.events.append(event(1)));
    other.exec("CREATE TRIGGER full BEFORE INSERT ON event BEGIN SELECT RAISE(ABORT, 'no space'); END");
    const refused = catching(() => store.record(() => store.events.append(event(2))));
    other.exec('DROP TRIGGER full');
    other.close();
    const seq = store.record(() => store.events.append(event(3)));
    store.close();
    expect({ refused, seq }).toEqual({
      refused: expect.objectContaining({ code: 'storage_unavailable', retryable: true, cause: expect.anything() }),
      seq: 2,
    });
  });

  test('that fails by itself fails with its own error, and keeps nothing of what it did', () => {
    const store = new Store(join(dir, 'db'));
    const mine = new ReefError('queue_full', 'full');
    const refused = catching(() =>
      store.commit(() => {
        store.jobs.insert({ job: job('A'), runtime: {} });
        store.outbox.insert({ key: 'k', jobId: 'A', ref: 'k', state: 'new', doc: 1 });
        throw mine;
      }),
    );
    const left = { jobs: store.jobs.live(), row: store.outbox.get('k') };
    store.close();
    expect({ isMine: refused === mine, left }).toEqual({ isMine: true, left: { jobs: [], row: undefined } });
  });

  test('may be synced when nothing was recorded, and when something was', () => {
    const store = new Store(join(dir, 'db'));
    store.sync();
    store.record(() => store.events.append(event(1)));
    store.sync();
    const last = store.events.lastSeq();
    store.close();
    expect(last).toBe(1);
  });
});

function catching(act: () => unknown): unknown {
  try {
    return act();
  } catch (error) {
    return error;
  }
}
