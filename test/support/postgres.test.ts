import { Client } from 'pg';
import { expect } from 'vitest';
import { hasPostgres, NO_POSTGRES, postgresOfFile } from './postgres.ts';
import { verifies } from './verifies.ts';

async function ask(url: string, sql: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  const { rows } = await client.query(sql);
  await client.end();
  return rows;
}

const server = postgresOfFile({ tcp: true, isSynced: true });

verifies('F-67')
  .needs(hasPostgres, NO_POSTGRES)
  .test('every test has a database of its own, and what was committed stays over a kill of the server', async () => {
    const database = await server().create();
    const url = server().url(database);
    await ask(url, 'CREATE TABLE kept AS SELECT 42 AS answer');
    const { pid } = server();
    await server().kill();
    await expect(ask(url, 'SELECT 1')).rejects.toThrow();
    await server().start();
    const copy = await server().create(database);
    expect({
      isAnother: server().pid !== pid,
      kept: await ask(url, 'SELECT * FROM kept'),
      copied: await ask(server().url(copy, { tcp: true }), 'SELECT * FROM kept'),
      other: await ask(server().url(await server().create()), "SELECT to_regclass('kept') AS kept"),
    }).toEqual({ isAnother: true, kept: [{ answer: 42 }], copied: [{ answer: 42 }], other: [{ kept: null }] });
  });
