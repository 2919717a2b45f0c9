import { chmodSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { expect } from 'vitest';
import { startPooler } from '../../../test/support/fleet/pooler.ts';
import { preparedDatabase, preparedUrl } from '../../../test/support/fleet/prepared.ts';
import { hasPostgres, NO_POSTGRES, postgresOfFile } from '../../../test/support/postgres.ts';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { eventually } from '../../../test/support/wait.ts';
import { readEnvironment } from '../../base/env.ts';
import { databaseUrl, refusePlainRemote } from './address.ts';
import { checkSchema, migrate, migrations } from './migrate.ts';
import { openDatabase, openPool } from './open-database.ts';
import { prepareDatabase } from './prepare-database.ts';
import { Silence } from './silence.ts';

const server = postgresOfFile({ tcp: true });
const env = readEnvironment({});
const onPostgres = (...ids: Parameters<typeof verifies>) => verifies(...ids).needs(hasPostgres, NO_POSTGRES);

verifies('F-42').test('a password on the command line is refused, a private file and the environment are not', () => {
  const dir = temporaryFolder();
  const file = join(dir, 'admin.url');
  writeFileSync(file, 'postgres://reef_app:geheim@db.example/reef\n', { mode: 0o600 });
  const said = readEnvironment({ REEF_DATABASE_URL: 'postgres://a:b@db/reef' });
  expect(databaseUrl({ argument: 'postgres://reef_app@db/reef' }, env)).toBe('postgres://reef_app@db/reef');
  expect(databaseUrl({ file }, env)).toBe('postgres://reef_app:geheim@db.example/reef');
  expect(databaseUrl({}, said)).toBe('postgres://a:b@db/reef');
  for (const argument of ['postgres://reef_app:geheim@db/reef', 'postgres://db/reef?user=a&password=geheim']) {
    expect(() => databaseUrl({ argument }, env)).toThrow(expect.objectContaining({ code: 'secret_in_argv' }));
    expect(() => databaseUrl({ argument }, env)).not.toThrow(/geheim/);
  }
  chmodSync(file, 0o640);
  expect(() => databaseUrl({ file }, env)).toThrow(/chmod 600/);
  for (const named of [{}, { argument: 'mysql://db/reef' }, { file: join(dir, 'none') }]) {
    expect(() => databaseUrl(named, env)).toThrow(expect.objectContaining({ code: 'bad_request' }));
  }
});

verifies('F-42').test('another machine is reached with a checked certificate only', () => {
  const remote = 'postgres://reef_app@db.example/reef';
  const refused = [
    remote,
    'postgres://reef_app@10.0.0.7/reef?sslmode=require',
    'postgres://reef_app@localhost/reef?host=10.0.0.7',
    'postgres://reef_app@[2001:db8::1]/reef',
    'postgres://reef_app@127.0.0.1.example.org/reef',
  ];
  for (const url of refused) {
    const refusal = expect.objectContaining({ code: 'database_tls_required' });
    expect(() => refusePlainRemote(url, env), url).toThrow(refusal);
  }
  const local = ['postgres://db@127.0.0.1/reef', 'postgres:///reef', 'postgres://[::1]/reef', 'postgres://%2Frun/reef'];
  for (const url of [...local, `${remote}?sslmode=verify-full`]) refusePlainRemote(url, env);
  const elsewhere = readEnvironment({ PGHOST: 'db.example' });
  expect(() => refusePlainRemote('postgres:///reef', elsewhere)).toThrow(/sslmode/);
});

onPostgres('F-20').test('a pooler in front is told from the server, and a plain wire is not', async () => {
  const url = await preparedUrl(server(), { tcp: true });
  await (await openDatabase(url, { env })).close();
  await using pooler = await startPooler(server().port);
  const pooled = url.replace(`:${server().port}`, `:${pooler.port}`);
  await expect(openDatabase(pooled, { env })).rejects.toMatchObject({ code: 'database_pooled' });
  expect(pooler.transactions()).toBeGreaterThan(0);
});

onPostgres('F-19', 'F-54').test('a worker reads and writes rows and can make or change no table', async () => {
  await using app = await preparedDatabase(server());
  await app.query("INSERT INTO reef.host (id, epoch) VALUES ('a', 1)");
  const forbidden = [
    'CREATE TABLE reef.mine (x int)',
    'CREATE TABLE public.mine (x int)',
    'CREATE SCHEMA mine',
    'ALTER TABLE reef.host ADD COLUMN x int',
    'DROP TABLE reef.run',
    'DELETE FROM reef.audit',
    "UPDATE reef.audit SET by = 'x'",
    "UPDATE reef.meta SET value = '0'",
    "SELECT reef.drop_partitions('event', now())",
  ];
  for (const sql of forbidden) {
    await expect(app.query(sql), sql).rejects.toMatchObject({ code: 'database_refused' });
  }
  const reader = await openDatabase(app.url, { env, role: 'reef_read' });
  expect(await reader.query('SELECT id FROM reef.host')).toEqual([{ id: 'a' }]);
  for (const sql of ['SELECT * FROM reef.token', "DELETE FROM reef.host WHERE id = 'a'"]) {
    await expect(reader.query(sql), sql).rejects.toMatchObject({ code: 'database_refused' });
  }
  await reader.close();
});

onPostgres('F-54').test(
  'whoever may make roles prepares a database without being a superuser; twice changes nothing',
  async () => {
    const name = await server().create();
    const root = await openDatabase(server().url(name), { env });
    await root.query('CREATE ROLE landlord LOGIN CREATEROLE');
    await root.query(`ALTER DATABASE ${name} OWNER TO landlord`);
    // In a server of its own nobody has made the roles before.
    const url = server().url(name, { user: 'landlord' });
    await prepareDatabase(url, env).catch((error: unknown) => {
      // The roles of this server are those of the superuser: only they can hand them on.
      expect(error).toMatchObject({ code: 'database_refused' });
    });
    await root.query('GRANT reef_admin, reef_app, reef_read TO landlord WITH ADMIN OPTION');
    const ran = await prepareDatabase(url, env);
    expect(ran).toEqual(migrations().map(({ version }) => version));
    expect(await prepareDatabase(url, env)).toEqual([]);
    await root.close();
  },
);

onPostgres('F-55').test('a schema that is too old or too new is refused by name, the next release is not', async () => {
  const known = migrations();
  const version = known.length + 1;
  const next = { version, sql: 'CREATE TABLE more (x int)', serves: 1 };
  const later = { version: version + 1, sql: 'DROP TABLE more', serves: version + 1 };
  await using owner = await preparedDatabase(server(), { role: 'reef_admin' });
  await checkSchema(owner);
  await expect(checkSchema(owner, [...known, next])).rejects.toMatchObject({ code: 'schema_too_old' });
  expect(await Promise.all([migrate(owner, [...known, next]), migrate(owner, [...known, next])])).toEqual(
    expect.arrayContaining([[version], []]),
  );
  await checkSchema(owner, known);
  await migrate(owner, [...known, next, later]);
  await expect(checkSchema(owner, known)).rejects.toMatchObject({ code: 'schema_too_new' });
  await expect(migrate(owner, known)).rejects.toMatchObject({ code: 'schema_too_new' });
  const empty = await openDatabase(server().url(await server().create()), { env });
  await expect(checkSchema(empty)).rejects.toMatchObject({ code: 'schema_too_old' });
  await empty.close();
  const early = openDatabase(server().url(await server().create()), { env, role: 'reef_app' });
  await expect(early).rejects.toMatchObject({ code: 'schema_too_old' });
});

onPostgres('F-55').test('a migration that fails leaves the schema as it was', async () => {
  await using owner = await preparedDatabase(server(), { role: 'reef_admin' });
  const known = migrations();
  const broken = { version: known.length + 1, sql: 'CREATE TABLE half (x int); SELECT 1 / 0', serves: 1 };
  await expect(migrate(owner, [...known, broken])).rejects.toThrow(/division/);
  expect(await owner.query("SELECT 1 FROM pg_tables WHERE tablename = 'half'")).toEqual([]);
  await checkSchema(owner);
});

onPostgres('F-22').test(
  'the fence refuses an old epoch, and holds a take-over back until what it let through has ended',
  async () => {
    await using app = await preparedDatabase(server());
    await app.query("INSERT INTO reef.host (id, epoch) VALUES ('a', 7)");
    const fenced = (epoch: number) => app.query('SELECT reef.fence($1, $2)', ['a', epoch]);
    for (const epoch of [6, 8]) await expect(fenced(epoch)).rejects.toMatchObject({ code: 'job_superseded' });
    await expect(app.query("SELECT reef.fence('b', 7)")).rejects.toMatchObject({ code: 'job_superseded' });
    const order: string[] = [];
    let takeOver: Promise<unknown> | undefined;
    await app.transaction(async (queries) => {
      await queries.query("SELECT reef.fence('a', 7)");
      takeOver = app.query("UPDATE reef.host SET epoch = 8 WHERE id = 'a'").then(() => order.push('taken over'));
      const waits = 'SELECT count(*) AS n FROM pg_locks WHERE NOT granted';
      await eventually(
        () => queries.query<{ n: number }>(waits),
        ([row]) => (row?.n ?? 0) > 0,
      );
      order.push('landed');
    });
    await takeOver;
    expect(order).toEqual(['landed', 'taken over']);
    await expect(fenced(7)).rejects.toMatchObject({ code: 'job_superseded' });
  },
);

onPostgres('F-47').test(
  'a run that ends, is cancelled or parked gives its place in the repository back once',
  async () => {
    await using app = await preparedDatabase(server());
    await app.query("INSERT INTO reef.repository (id, name, url, running) VALUES ('r', 'shop', 'x', 4)");
    const ids = ['a', 'b', 'c', 'd'];
    for (const id of ids) {
      await app.query("INSERT INTO reef.run (id, repository, task, by, status) VALUES ($1, 'r', '', 'me', 'running')", [
        id,
      ]);
    }
    const running = async () =>
      (await app.query<{ running: number }>('SELECT running FROM reef.repository'))[0]?.running;
    const set = (id: string, status: string) =>
      app.query('UPDATE reef.run SET status = $2 WHERE id = $1', [id, status]);
    await set('a', 'halted');
    expect(await running()).toBe(4);
    await set('a', 'parked');
    await set('a', 'queued');
    await set('b', 'ended');
    await set('b', 'ended');
    await set('c', 'cancelled');
    expect(await running()).toBe(1);
    await app.query("DELETE FROM reef.run WHERE id = 'd'");
    expect(await running()).toBe(0);
  },
);

onPostgres('F-38').test(
  'who listens hears again after the server was killed, and is told that it may have missed some',
  async () => {
    await using app = await preparedDatabase(server());
    const heard: (string | undefined)[] = [];
    await app.listen('reef', (notice) => heard.push(notice?.payload));
    await app.query("SELECT pg_notify('reef', 'one')");
    await eventually(
      () => heard,
      (all) => all.includes('one'),
    );
    await server().kill();
    await expect(app.query('SELECT 1')).rejects.toMatchObject({ code: 'storage_unavailable' });
    await server().start();
    await eventually(
      () => heard,
      (all) => all.includes(undefined),
    );
    await app.query("SELECT pg_notify('reef', 'two')");
    await eventually(
      () => heard,
      (all) => all.at(-1) === 'two',
    );
    expect(heard).toEqual(['one', undefined, 'two']);
  },
);

onPostgres('F-62').test(
  'a write that meets a server that is gone counts as a reset connection, which DBOS repeats; a broken pipe it would not',
  async () => {
    const pool = await openPool(await preparedUrl(server()), { role: 'reef_app', silence: new Silence(), size: 1 });
    const client = await pool.connect();
    const asked = client.query('SELECT pg_sleep(60)').catch((error: NodeJS.ErrnoException) => error.code);
    client.on('error', () => undefined);
    const { stream } = (client as unknown as { connection: { stream: Socket } }).connection;
    stream.destroy(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
    expect(await asked).toBe('ECONNRESET');
    client.release(true);
    await pool.end();
  },
);
