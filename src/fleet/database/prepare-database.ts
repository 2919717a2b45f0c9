import type { Environment } from '../../base/env.ts';
import type { Database } from './database.ts';
import { migrate } from './migrate.ts';
import { openDatabase } from './open-database.ts';
import { grantRights, makeRoles } from './roles.ts';

/** Roles, schema and rights, by whoever may make them. Again: what is there stays. Resolves with the migrations it ran. */
export async function prepareDatabase(url: string, env: Environment): Promise<number[]> {
  await using given = closing(await openDatabase(url, { env }));
  await makeRoles(given.database);
  await given.database.query(`DO $$ BEGIN
    EXECUTE format('GRANT CREATE ON DATABASE %I TO reef_admin', current_database()); END $$`);
  await using owner = closing(await openDatabase(url, { env, role: 'reef_admin' }));
  const ran = await migrate(owner.database);
  await owner.database.transaction(grantRights);
  return ran;
}

function closing(database: Database): { database: Database } & AsyncDisposable {
  return { database, [Symbol.asyncDispose]: () => database.close() };
}
