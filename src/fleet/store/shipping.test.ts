import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect } from 'vitest';
import { preparedDatabase } from '../../../test/support/fleet/prepared.ts';
import { testHome, testJob } from '../../../test/support/fleet/test-home.ts';
import { hasPostgres, NO_POSTGRES, postgresOfFile } from '../../../test/support/postgres.ts';
import { scale } from '../../../test/support/scale.ts';
import { ROOT } from '../../../test/support/source-files.ts';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { eventually, until } from '../../../test/support/wait.ts';
import type { Database } from '../database/database.ts';
import { cleanJson } from './clean-json.ts';
import type { HostIdentity } from './home-source.ts';
import { openHostStore } from './host-store.ts';
import { Shipper } from './shipper.ts';

const server = postgresOfFile({ isSynced: true });
const onPostgres = (...ids: Parameters<typeof verifies>) => verifies(...ids).needs(hasPostgres, NO_POSTGRES);
const log = { error: (...words: unknown[]) => expect.fail(JSON.stringify(words)), warn: () => {} } as never;

async function withHost(database: Database, host = 'a'): Promise<void> {
  await database.query('INSERT INTO reef.host (id, epoch) VALUES ($1, 1)', [host]);
  await database.query(
    "INSERT INTO reef.repository (id, name, url) VALUES ('shop', 'shop', 'x') ON CONFLICT DO NOTHING",
  );
}

const shipped = (database: Database, host = 'a') =>
  database.query<{ n: number; seq: number; type: string; job: string }>(
    'SELECT n, seq, type, job FROM reef.event WHERE host = $1 ORDER BY n',
    [host],
  );

onPostgres('F-36', 'F-62').test(
  'killed again and again, worker and database, not one event is lost or doubled',
  async () => {
    await using database = await preparedDatabase(server());
    await withHost(database);
    const folder = temporaryFolder();
    const program = join(ROOT, 'test/support/fleet/ship-program.ts');
    const kills = scale('F-36', { test: 3, faults: 100, soak: 1_000 });
    const count = async () => (await shipped(database).catch(() => [])).length;
    let worker: ChildProcess | undefined;
    for (let round = 0; round < kills; round++) {
      const before = await count();
      worker = spawn(process.execPath, [program, folder, database.url, 'a'], {
        stdio: ['ignore', 'ignore', 'inherit'],
      });
      await until('the worker ships', async () => (await count()) > before + 50);
      if (round % 2 === 1) {
        await server().kill();
        await server().start();
        const after = await count();
        await until('the worker ships again by itself', async () => (await count()) > after);
      }
      const ended = once(worker, 'exit');
      worker.kill('SIGKILL');
      expect(await ended).toEqual([null, 'SIGKILL']);
    }
    const home = testHome(folder, 'shop');
    const rest = new Shipper({ database, log, identity: () => ({ host: 'a', epoch: 1 }), homes: () => [home] });
    await until('all is shipped', async () => (await rest.ship()) === 0);
    const rows = await shipped(database);
    const all = home.store.events.lastSeq();
    expect(all).toBeGreaterThan(kills * 50);
    expect(rows.map(({ seq }) => seq)).toEqual(Array.from({ length: all }, (_, n) => n + 1));
    expect(rows.map(({ n }) => n)).toEqual(Array.from({ length: all }, (_, n) => n + 1));
    home.store.close();
  },
);

onPostgres('F-36', 'F-22').test('a host that has lost its epoch ships nothing until it has a new one', async () => {
  await using database = await preparedDatabase(server());
  await withHost(database);
  const home = testHome(temporaryFolder(), 'shop');
  let epoch = 1;
  const shipper = new Shipper({ database, log, identity: () => ({ host: 'a', epoch }), homes: () => [home] });
  home.messages('J', 3);
  expect(await shipper.ship()).toBe(3);
  await database.query("UPDATE reef.host SET epoch = 2 WHERE id = 'a'");
  home.messages('J', 2);
  await expect(shipper.ship()).rejects.toMatchObject({ code: 'job_superseded' });
  epoch = 2;
  expect(await shipper.ship()).toBe(2);
  expect((await shipped(database)).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5]);
  home.store.close();
});

onPostgres('F-36').test('two homes of a host count together, and progress is one in ten seconds of a job', async () => {
  await using database = await preparedDatabase(server());
  await withHost(database);
  await database.query("INSERT INTO reef.repository (id, name, url) VALUES ('web', 'web', 'x')");
  const folder = temporaryFolder();
  const homes = [testHome(folder, 'shop'), testHome(folder, 'web')] as const;
  const shipper = new Shipper({ database, log, identity: () => ({ host: 'a', epoch: 1 }), homes: () => homes });
  homes[0].append('J', 'one', 'two', 'three');
  homes[1].messages('K', 600);
  homes[0].append('L', 'NUL \0 and half \ud800 a pair');
  const sizes = [await shipper.ship(), await shipper.ship(), await shipper.ship()];
  expect(sizes).toEqual([500, 102, 0]);
  const rows = await shipped(database);
  expect(rows.map(({ n }) => n)).toEqual(Array.from({ length: 602 }, (_, n) => n + 1));
  expect(rows.filter(({ type }) => type === 'progress').map(({ job, seq }) => [job, seq])).toEqual([
    ['J', 1],
    ['L', 4],
  ]);
  const [text] = await database.query("SELECT payload ->> 'text' AS text FROM reef.event WHERE job = 'L'");
  expect(text).toEqual({ text: 'NUL \ufffd and half \ufffd a pair' });
  for (const home of homes) home.store.close();
});

verifies('F-36').test('what a database of JSON refuses is replaced and nothing else is', () => {
  const kept = { a: '\\u0000', b: 'C:\\ud800', c: '\ud83d\ude00', 'key\0': ['\0\0'] };
  expect(JSON.parse(cleanJson(kept))).toEqual({
    a: '\\u0000',
    b: 'C:\\ud800',
    c: '\ud83d\ude00',
    'key\ufffd': ['\ufffd\ufffd'],
  });
});

onPostgres('F-38').test('a worker tells at most four times a second, and what nobody told is found', async () => {
  await using database = await preparedDatabase(server());
  await withHost(database);
  const home = testHome(temporaryFolder(), 'shop');
  const heard: number[] = [];
  await database.listen('reef', () => heard.push(performance.now()));
  const identity: HostIdentity = { host: 'a', epoch: 1 };
  const began = performance.now();
  const open = openHostStore({ database, log, identity: () => identity, homes: () => [home] });
  for (let n = 0; n < 100; n++) {
    home.messages('J', 1);
    await eventually(
      () => home.store.events.lastSeq(),
      (seq) => seq > n,
    );
    await new Promise(setImmediate);
  }
  // Behind the back of the signal: found when it looks the next time.
  home.store.commit(() =>
    home.store.events.append({ at: new Date().toISOString(), jobId: 'J', type: 'completed', payload: '{}' }),
  );
  await until('all is shipped', async () => (await shipped(database)).length === 101);
  expect(heard.length).toBeLessThanOrEqual(((performance.now() - began) / 1_000) * 4 + 1);
  expect(heard.length).toBeGreaterThan(0);
  await open.close();
  home.store.close();
});

onPostgres('F-41').test(
  'usage is recorded as it grows; a used up budget interrupts its jobs on every host, once',
  async () => {
    await using database = await preparedDatabase(server());
    await withHost(database);
    await withHost(database, 'b');
    const folder = temporaryFolder();
    const other = temporaryFolder();
    const homes = { a: testHome(folder, 'shop'), b: testHome(other, 'shop') };
    const shipperOf = (host: 'a' | 'b') =>
      new Shipper({ database, log, identity: () => ({ host, epoch: 1 }), homes: () => [homes[host]] });
    const shippers = { a: shipperOf('a'), b: shipperOf('b') };
    await database.query(
      "INSERT INTO reef.run (id, repository, task, by) VALUES ('R1', 'shop', '', 'ada'), ('R2', 'shop', '', 'ben')",
    );
    await database.query("INSERT INTO reef.budget (person, tokens) VALUES ('ada', 1000)");
    const use = async (host: 'a' | 'b', id: string, output: number) => {
      const usage = { ...testJob(id).usage, output, input: 10, costUsd: output / 100 };
      homes[host].jobs.set(id, testJob(id, { usage }));
      homes[host].messages(id, 1);
      await shippers[host].ship();
    };
    await use('a', 'run:R1', 400);
    await use('a', 'run:R1', 900);
    await use('b', 'run:R2', 5_000);
    const commands = () =>
      database.query("SELECT host, op, args -> 'input' ->> 'id' AS id FROM reef.command ORDER BY n");
    expect(await commands()).toEqual([]);
    await use('b', 'run:R1b', 100);
    expect(await commands()).toEqual([]); // of nobody's run
    await use('a', 'run:R1', 995);
    await use('a', 'run:R1', 1_200);
    expect(await commands()).toEqual([{ host: 'a', op: 'interrupt', id: 'run:R1' }]);
    const sums = await database.query(
      'SELECT person, sum(input) AS input, sum(output) AS output, sum(cost) AS cost FROM reef.usage GROUP BY person ORDER BY person',
    );
    expect(sums).toEqual([
      { person: 'ada', input: 10, output: 1_200, cost: 12 },
      { person: 'ben', input: 10, output: 5_000, cost: 50 },
      { person: null, input: 10, output: 100, cost: 1 },
    ]);
    for (const home of Object.values(homes)) home.store.close();
  },
);
