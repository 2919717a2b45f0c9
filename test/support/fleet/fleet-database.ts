import { readEnvironment } from '../../../src/base/env.ts';
import type { Database } from '../../../src/fleet/database/database.ts';
import { openDatabase } from '../../../src/fleet/database/open-database.ts';
import { prepareDatabase } from '../../../src/fleet/database/prepare-database.ts';
import { migrateDbos } from '../../../src/fleet/engine/dbos.ts';
import type { PostgresServer } from '../postgres.ts';

const templates = new WeakMap<PostgresServer, Promise<string>>();

async function prepare(server: PostgresServer): Promise<string> {
  const name = await server.create();
  await prepareDatabase(server.url(name), readEnvironment());
  await migrateDbos(server.url(name), readEnvironment());
  return name;
}

/** The URL of a new database as `reef fleet init` leaves it. */
export async function fleetDatabase(server: PostgresServer): Promise<string> {
  const template = templates.get(server) ?? prepare(server);
  templates.set(server, template);
  return server.url(await server.create(await template));
}

export const asWorker = (url: string): Promise<Database> =>
  openDatabase(url, { env: readEnvironment(), role: 'reef_app' });

export async function addRepository(database: Database, id: string, more: { cap?: number; weight?: number } = {}) {
  const sql = "INSERT INTO reef.repository (id, name, url, cap, weight) VALUES ($1, $1, '', $2, $3)";
  await database.query(sql, [id, more.cap ?? 8, more.weight ?? 1]);
}

/** A host that nobody judges, for what needs its row only. */
export async function addHost(database: Database, id: string): Promise<void> {
  await database.query('INSERT INTO reef.host (id, epoch) VALUES ($1, 1) ON CONFLICT DO NOTHING', [id]);
}
