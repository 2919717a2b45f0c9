import { readEnvironment } from '../../../src/base/env.ts';
import type { Database } from '../../../src/fleet/database/database.ts';
import { type DatabaseOptions, openDatabase } from '../../../src/fleet/database/open-database.ts';
import { prepareDatabase } from '../../../src/fleet/database/prepare-database.ts';
import type { PostgresServer } from '../postgres.ts';

/** No setting of the machine that runs the tests. */
const ENV = readEnvironment({ PATH: process.env.PATH, HOME: '/nonexistent' });

const prepared = new WeakMap<PostgresServer, Promise<string>>();

/** The address of a database of its own with schema and roles: a copy of the first one that this server prepared. */
export async function preparedUrl(server: PostgresServer, how?: { tcp: boolean }): Promise<string> {
  const template = prepared.get(server) ?? makeTemplate(server);
  prepared.set(server, template);
  return server.url(await server.create(await template), how);
}

async function makeTemplate(server: PostgresServer): Promise<string> {
  const name = await server.create();
  await prepareDatabase(server.url(name), ENV);
  return name;
}

export interface TestDatabase extends Database, AsyncDisposable {
  url: string;
}

/** A prepared database of its own, opened as a worker opens it unless another role is asked for. */
export async function preparedDatabase(
  server: PostgresServer,
  options: Pick<DatabaseOptions, 'role' | 'size'> & { tcp?: boolean } = {},
): Promise<TestDatabase> {
  const { tcp = false, ...rest } = options;
  const url = await preparedUrl(server, { tcp });
  const database = await openDatabase(url, { env: ENV, role: 'reef_app', ...rest });
  return {
    url,
    query: (text, values) => database.query(text, values),
    transaction: (work) => database.transaction(work),
    listen: (channel, hear) => database.listen(channel, hear),
    connect: () => database.connect(),
    close: () => database.close(),
    [Symbol.asyncDispose]: () => database.close(),
  };
}
