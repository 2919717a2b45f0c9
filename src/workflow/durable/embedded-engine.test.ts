import { getEventListeners } from 'node:events';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { manualClock } from '../../../test/support/manual-clock.ts';
import { scale } from '../../../test/support/scale.ts';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import type { Harness } from '../../../test/support/workflow/conformance/harness.ts';
import { conformance } from '../../../test/support/workflow/conformance.ts';
import { walkKilled, walkOnce } from '../../../test/support/workflow/kills.ts';
import { ReefError } from '../../protocol/errors.ts';
import { openSqlite } from '../../store/driver.ts';
import { Store } from '../../store/store.ts';
import type { DurableEngine } from './durable-engine.ts';
import { EmbeddedEngine } from './embedded-engine.ts';
import type { JournalEntry } from './journal.ts';

let dir: string;
beforeEach(() => {
  dir = temporaryFolder();
});

const silent = { debug() {}, info() {}, warn() {}, error() {} };

async function until(condition: () => boolean): Promise<void> {
  await expect.poll(condition, { interval: 1 }).toBe(true);
}

function embedded(): Harness {
  const clock = manualClock();
  const stores = new Map<DurableEngine, Store>();
  return {
    async open() {
      const store = new Store(join(dir, 'db'));
      const engine = new EmbeddedEngine({ store, clock, log: silent });
      stores.set(engine, store);
      return engine;
    },
    async lose(engine) {
      await engine.close();
      stores.get(engine)?.close();
    },
    visits: 1_000,
    now: () => clock.now(),
    advance: (ms) => clock.advance(ms),
    sleeping: () => until(() => clock.sleeping() > 0),
    until,
  };
}

describe('the embedded engine conforms', () => {
  for (const { name, ids, run } of conformance) {
    verifies('W-76', ...ids).test(name, () => run(embedded()));
  }
});

verifies('W-76').test('the suite has a case for every promise of the port', () => {
  const ids = [...new Set(conformance.flatMap((each): string[] => [...each.ids]))].sort();
  const port = ['W-70', 'W-71', 'W-72', 'W-73', 'W-74', 'W-75'];
  expect(ids).toEqual(['F-02', 'F-03', 'F-05', 'F-06', ...port]);
});

verifies('Q-90').test(
  'who waited for the result of a run leaves nothing on the signal it might have stopped by',
  async () => {
    const { store, engine } = open();
    engine.define('w', async (d) => (await d.waitFor('q', null)) ?? null);
    const { signal } = new AbortController();
    await engine.start('w', 'r', null);
    const result = engine.result('r', { abort: signal });
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    await engine.answer('r', 'q', 'a', 'on');
    expect([await result, getEventListeners(signal, 'abort')]).toEqual([{ status: 'completed', value: 'on' }, []]);
    await engine.close();
    store.close();
  },
);

const open = (more: { onEntry?: (runId: string, entry: JournalEntry) => void } = {}) => {
  const store = new Store(join(dir, 'db'));
  const clock = manualClock();
  return { store, clock, engine: new EmbeddedEngine({ store, clock, log: silent, ...more }) };
};

verifies('W-75').test('the store refuses to change or delete an entry, or to take one over 64 KiB', async () => {
  const { store, engine } = open();
  engine.define('w', async (d) => d.step('a', null, async () => 'x'.repeat(100_000)));
  await engine.start('w', 'r', null);
  await engine.result('r');
  const large = () =>
    store.commit(() => store.journal.append('r', { at: '', kind: 'step', key: 'big', data: 'x'.repeat(65_537) }));
  expect(large).toThrow('CHECK constraint failed');
  const rows = store.journal.after('r', 0, 10).map(({ kind, data }) => [kind, data.length < 65_537]);
  store.close();
  const database = openSqlite(join(dir, 'db'));
  for (const sql of [
    'UPDATE journal SET data = 1',
    'DELETE FROM journal',
    'DELETE FROM journal_blob',
    "UPDATE journal_blob SET bytes = ''",
  ]) {
    expect(() => database.exec(sql)).toThrow(/a journal entry is never/);
  }
  database.close();
  expect(rows).toEqual([
    ['start', true],
    ['step', true],
    ['end', true],
  ]);
});

test('every entry is told once, after it is on the disk', async () => {
  const told: string[] = [];
  const other = () => {
    const store = new Store(join(dir, 'db'));
    const rows = store.journal.after('r', 0, 100).map(({ kind, key }) => `${kind} ${key}`);
    store.close();
    return rows;
  };
  const seen: boolean[] = [];
  const { engine, store } = open({
    onEntry(_, { kind, key }) {
      told.push(`${kind} ${key}`);
      seen.push(other().includes(`${kind} ${key}`));
    },
  });
  engine.define('w', async (d) => {
    await d.step('a', null, async () => 1);
    return (await d.waitFor('q', 'ask')) ?? null;
  });
  await engine.start('w', 'r', null);
  await engine.answer('r', 'q', 'x', 'y');
  await engine.result('r');
  store.close();
  expect([told.sort(), seen.every(Boolean)]).toEqual([['answer q', 'end ', 'start ', 'step a', 'wait q'], true]);
});

verifies('Q-43').test('a store that cannot write for a while delays a result and loses nothing', async () => {
  const { engine, store, clock } = open();
  let failures = 0;
  const commit = store.commit.bind(store);
  let isBroken = false;
  store.commit = (work) => {
    if (!isBroken) return commit(work);
    failures += 1;
    throw new ReefError('storage_unavailable', 'the disk is full');
  };
  let calls = 0;
  engine.define('w', async (d) =>
    d.step('a', null, async () => {
      isBroken = true;
      return ++calls;
    }),
  );
  await engine.start('w', 'r', null);
  const pauses: number[] = [];
  for (const pause of [100, 200, 400, 800]) {
    await until(() => clock.sleeping() === 1);
    pauses.push(failures);
    await clock.advance(pause - 1);
    expect(clock.sleeping()).toBe(1);
    await clock.advance(1);
  }
  await until(() => clock.sleeping() === 1);
  isBroken = false;
  await clock.advance(300_000);
  expect([await engine.result('r'), calls, pauses]).toEqual([{ status: 'completed', value: 1 }, 1, [1, 2, 3, 4]]);
  store.close();
});

test('a cancel does not wait for ever on an effect that does not heed it', async () => {
  const { engine, store, clock } = open();
  let isBegun = false;
  engine.define('w', async (d) =>
    d.step('deaf', null, () => {
      isBegun = true;
      return new Promise<null>(() => {});
    }),
  );
  await engine.start('w', 'r', null);
  await until(() => isBegun);
  const cancelled = engine.cancel('r', 'now');
  await until(() => clock.sleeping() === 1);
  await clock.advance(15_000);
  await cancelled;
  expect(await engine.result('r')).toEqual({ status: 'cancelled', reason: 'now' });
  store.close();
});

test('a run whose program is unknown here waits, and a closed engine refuses', async () => {
  const first = open();
  first.engine.define('old', async (d) => (await d.waitFor('q', null)) ?? null);
  await first.engine.start('old', 'r', null);
  await first.engine.close();
  first.store.close();
  const second = open();
  const abort = AbortSignal.abort(new Error('enough'));
  const waited = second.engine.result('r', { abort }).catch((error: Error) => error.message);
  expect(await second.engine.recover()).toEqual([]);
  await second.engine.close();
  await second.engine.close();
  const refused = await second.engine.start('old', 'x', null).catch((error: ReefError) => error.code);
  const closed = await second.engine.recover().catch((error: ReefError) => error.code);
  expect([refused, closed]).toEqual(['internal', 'daemon_unavailable']);
  second.store.close();
  void waited;
});

verifies('W-76').test('killed at each point of a run, another process ends it with the same trace', async () => {
  const whole = await walkOnce('embedded', temporaryFolder());
  const points = Array.from({ length: whole.passed }, (_, index) => index + 1);
  const every = scale('W-78', { test: 4, faults: 1, soak: 1 });
  for (const point of points.filter((each) => each % every === 1 % every)) {
    const { signal, faults, walked, effects } = await walkKilled('embedded', temporaryFolder(), point);
    expect({ signal, end: walked?.end, trace: walked?.trace }).toEqual({
      signal: 'SIGKILL',
      end: whole.end,
      trace: whole.trace,
    });
    const isBetween = faults.startsWith('between');
    expect(new Set(effects).size, faults).toBe(4);
    // What was under way beside a killed branch is done again too.
    if (!faults.includes('/work') && faults !== 'after the fork')
      expect(effects.length, faults).toBe(isBetween ? 5 : 4);
  }
});

verifies('F-09').test('a home has no column for a lease, a claim or a host: it is one process by design', () => {
  const { store } = open();
  store.close();
  const database = openSqlite(join(dir, 'db'));
  const columns = database
    .prepare<{ name: string }>(
      "SELECT m.name || '.' || c.name AS name FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table'",
    )
    .all()
    .map(({ name }) => name);
  database.close();
  expect(columns).toContain('journal.run_id');
  expect(columns.filter((name) => /lease|claim|host|epoch|executor|heartbeat/.test(name))).toEqual([]);
});
