import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { verifies } from '../../test/verifies.ts';
import { openSqlite } from './driver.ts';
import { holdLock, isLocked } from './home-lock.ts';
import { migrate } from './migrations.ts';
import { isDamaged, Store } from './store.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'reef-store-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

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
  expect({ seq, seen }).toEqual({ seq: 2, seen: [[1, { n: 1 }], [2, { n: 3 }]] });
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
