import { expect } from 'vitest';
import { openFleetEngine } from '../../../test/support/fleet/engine.ts';
import { asWorker, fleetDatabase } from '../../../test/support/fleet/fleet-database.ts';
import { hasPostgres, NO_POSTGRES, postgresOfFile } from '../../../test/support/postgres.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { eventually } from '../../../test/support/wait.ts';
import type { Durable } from '../../workflow/durable/durable.ts';
import { claimNext } from '../host/claims.ts';
import type { FleetEngine } from './fleet-engine.ts';

const server = postgresOfFile();
const needing = (...ids: Parameters<typeof verifies>) => verifies(...ids).needs(hasPostgres, NO_POSTGRES);
const ME = { host: 'host-1', epoch: 1 };

async function open() {
  const url = await fleetDatabase(server());
  const database = await asWorker(url);
  const workflows = () =>
    database.query<{ id: string; status: string; executor: string; queue: string | null }>(
      `SELECT workflow_uuid AS id, status, executor_id AS executor, queue_name AS queue
       FROM dbos.workflow_status ORDER BY workflow_uuid`,
    );
  const status = async (id: string) =>
    (await database.query<{ status: string }>('SELECT status FROM reef.run WHERE id = $1', [id]))[0]?.status;
  return { url, database, workflows, status, [Symbol.asyncDispose]: () => database.close() };
}

needing('F-13', 'F-14', 'F-15').test(
  'a run that waits is parked, an answer queues it, and whoever claims it goes on at its wait; a cancelled one stays so',
  async () => {
    await using fleet = await open();
    let calls = 0;
    const define = (engine: FleetEngine) =>
      engine.define('w', async (d) => {
        await d.step('before', null, async () => ++calls);
        return (await d.waitFor('q', 'which way?')) ?? null;
      });
    const first = await openFleetEngine(fleet.url);
    define(first.engine);
    for (const id of ['parked', 'cancelled']) await first.engine.start('w', id, null);
    await eventually(
      () => first.engine.idleSince(performance.now()),
      (idle) => idle.length === 2,
    );
    await first.engine.park('parked');
    await first.engine.cancel('cancelled', 'not wanted');
    const stopped = await fleet.workflows();
    expect([stopped.map(({ id, status }) => [id, status]), first.engine.live]).toEqual([
      [
        ['cancelled', 'CANCELLED'],
        ['parked', 'CANCELLED'],
      ],
      [],
    ]);
    expect([await fleet.status('parked'), await first.engine.recover()]).toEqual(['parked', []]);
    const said = [
      await first.engine.answer('parked', 'q', 'answer-1', 'left'),
      await first.engine.answer('cancelled', 'q', 'answer-1', 'left'),
    ];
    expect([said, await fleet.status('parked')]).toEqual([['taken', 'late'], 'queued']);
    const rows = await fleet.database.query('SELECT run, key, delivered_at IS NOT NULL AS sent FROM reef.answer');
    const sent = await fleet.database.query('SELECT message_uuid AS id, topic FROM dbos.notifications');
    expect([rows, sent]).toEqual([[{ run: 'parked', key: 'q', sent: true }], [{ id: 'answer-1::parked', topic: 'q' }]]);
    await first.close();

    const second = await openFleetEngine(fleet.url);
    define(second.engine);
    const claim = () => claimNext(fleet.database, ME, { labels: [], slots: 2 });
    const claims = [await claim(), await claim()];
    expect(claims.map((run) => run && [run.id, run.known])).toEqual([['parked', true], undefined]);
    await second.engine.resume('parked');
    expect([await second.engine.result('parked'), calls]).toEqual([{ status: 'completed', value: 'left' }, 2]);
    expect(await second.engine.result('cancelled')).toEqual({ status: 'cancelled', reason: 'not wanted' });
    await second.close();
  },
);

needing('F-10', 'F-11', 'F-16').test(
  'branches are workflows beside their run on the same host, and the next life of it takes them up under another name',
  async () => {
    await using fleet = await open();
    const begun: string[] = [];
    const define = (engine: FleetEngine) => {
      engine.define('branch', async (d, input) => {
        begun.push(String(input));
        return (await d.waitFor(`${input}/q`, null)) ?? null;
      });
      engine.define('w', async (d) => {
        const both = await Promise.all(['a', 'b'].map((each) => d.child(each, 'branch', each)));
        return both.map((each) => each ?? null);
      });
    };
    const first = await openFleetEngine(fleet.url);
    define(first.engine);
    await first.engine.start('w', 'run', null);
    await eventually(fleet.workflows, (rows) => rows.length === 3 && begun.length === 2);
    const before = await fleet.workflows();
    expect(before.map(({ id }) => id)).toEqual(['run', 'run/a', 'run/b']);
    expect(new Set(before.map(({ executor }) => executor)).size).toBe(1);
    await first.close();

    const second = await openFleetEngine(fleet.url);
    define(second.engine);
    expect(await second.engine.recover()).toEqual(['run']);
    await eventually(
      () => begun.length,
      (n) => n === 4,
    );
    for (const each of ['a', 'b']) await second.engine.answer('run', `${each}/q`, `answer-${each}`, each);
    expect(await second.engine.result('run')).toEqual({ status: 'completed', value: ['a', 'b'] });
    const after = await fleet.workflows();
    const [was] = before.map(({ executor }) => executor);
    expect(new Set(after.map(({ executor, queue }) => `${executor.split('/')[0]} ${queue}`))).toEqual(
      new Set(['host-1 host:host-1']),
    );
    expect(after.every(({ executor }) => executor !== was)).toBe(true);
    await second.close();
  },
);

needing('F-18', 'F-57').test(
  'a parked run of an older interpreter is stamped anew by whoever claims it: its answer is there and no step is repeated',
  async () => {
    await using fleet = await open();
    let calls = 0;
    const define = (engine: FleetEngine, version: number) => {
      const branch = async (d: Durable) => {
        await d.step('inner', null, async () => ++calls);
        return (await d.waitFor('q', 'which way?')) ?? null;
      };
      engine.define('branch', branch, { version });
      const body = async (d: Durable) => {
        await d.step('before', null, async () => ++calls);
        const [said = null] = await Promise.all([d.child('a', 'branch', null)]);
        await d.step('after', null, async () => ++calls);
        return said;
      };
      engine.define('w', body, { version });
    };
    const old = await openFleetEngine(fleet.url, { version: 1 });
    define(old.engine, 1);
    await old.engine.start('w', 'run', null);
    await eventually(
      () => old.engine.idleSince(performance.now()),
      (idle) => idle.length === 1,
    );
    await old.engine.park('run');
    await old.engine.answer('run', 'q', 'answer-1', 'left');
    await old.close();

    const next = await openFleetEngine(fleet.url, { version: 2 });
    define(next.engine, 2);
    expect(await claimNext(fleet.database, ME, { labels: [], slots: 2 })).toMatchObject({ id: 'run', known: true });
    await next.engine.resume('run');
    expect([await next.engine.result('run'), calls]).toEqual([{ status: 'completed', value: 'left' }, 3]);
    const versions = await fleet.database.query('SELECT DISTINCT application_version AS v FROM dbos.workflow_status');
    expect(versions).toEqual([{ v: '2' }]);
    await next.close();
  },
);

needing('F-58').test(
  'a run whose worker was killed after its row was written and before DBOS had it begins on the next life of that worker',
  async () => {
    await using fleet = await open();
    const { engine, close } = await openFleetEngine(fleet.url);
    engine.define('w', async (d) => d.step('only', null, async () => 'done'));
    await fleet.database.query(
      `INSERT INTO reef.run (id, repository, task, by, status, known, host, last_host, epoch)
       VALUES ('half', 'shop', 't', 'ada', 'running', true, 'host-1', 'host-1', 1)`,
    );
    expect(await engine.recover()).toEqual([]);
    expect(await fleet.database.query('SELECT known, status FROM reef.run')).toEqual([
      { known: false, status: 'running' },
    ]);
    await engine.start('w', 'half', null);
    expect(await engine.result('half')).toEqual({ status: 'completed', value: 'done' });
    await close();
  },
);
