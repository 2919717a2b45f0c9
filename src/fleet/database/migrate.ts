import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ReefError } from '../../protocol/errors.ts';
import type { Database, Queries } from './database.ts';

const FOLDER = fileURLToPath(new URL('migrations', import.meta.url));

export interface Migration {
  version: number;
  sql: string;
  /** The oldest schema whose programs still work on this one. */
  serves: number;
}

/**
 * Plain files, `0001-first.sql` and so on; a released one is never edited. They only add, so that programs of the release
 * before go on; one that takes away says from which schema on programs can live with it: `-- serves: 7`.
 */
export function migrations(folder = FOLDER): Migration[] {
  const names = readdirSync(folder).filter((name) => name.endsWith('.sql'));
  let serves = 1;
  return names.sort().map((name, index) => {
    const sql = readFileSync(join(folder, name), 'utf8');
    const version = Number.parseInt(name, 10);
    if (version !== index + 1) throw new Error(`${name} is not migration ${index + 1}`);
    serves = Number(/^-- serves: (\d+)$/m.exec(sql)?.[1] ?? serves);
    return { version, sql, serves };
  });
}

/** What the database says of itself; undefined where no fleet was ever prepared. */
async function schemaOf(queries: Queries): Promise<{ version: number; serves: number } | undefined> {
  const [there] = await queries.query("SELECT 1 FROM pg_tables WHERE schemaname = 'reef' AND tablename = 'meta'");
  if (!there) return undefined;
  const rows = await queries.query<{ key: string; value: string }>('SELECT key, value FROM reef.meta');
  const number = (key: string) => Number(rows.find((row) => row.key === key)?.value ?? 0);
  return { version: number('schema'), serves: number('serves') };
}

/** For every program of a fleet at its start. */
export async function checkSchema(queries: Queries, steps: readonly Migration[] = migrations()): Promise<void> {
  const known = steps.length;
  const schema = await schemaOf(queries);
  const found = schema?.version ?? 0;
  if (found < known) {
    const message = `The database has ${schema ? `schema ${found}` : 'no schema of a fleet'}, this Reef needs ${known}`;
    throw new ReefError('schema_too_old', message);
  }
  if (known < (schema?.serves ?? 0)) {
    const message = `The database has schema ${found}, for programs that know ${schema?.serves}; this Reef knows ${known}`;
    throw new ReefError('schema_too_new', message);
  }
}

/** Brings the schema to what this Reef knows, each step whole or not at all; of two at once one waits. Says which were run. */
export async function migrate(database: Database, steps: readonly Migration[] = migrations()): Promise<number[]> {
  return database.transaction(async (queries) => {
    await queries.query("SELECT pg_advisory_xact_lock(hashtext('reef.migrate'))");
    const schema = await schemaOf(queries);
    if (schema && schema.version > steps.length) return refuseNewer(schema, steps.length);
    const missing = steps.filter(({ version }) => version > (schema?.version ?? 0));
    if (!schema) await queries.query('CREATE SCHEMA IF NOT EXISTS reef');
    await queries.query('SET LOCAL search_path = reef');
    for (const { sql, version, serves } of missing) {
      await queries.query(sql);
      const set = 'INSERT INTO meta VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value';
      await queries.query(set, ['schema', String(version)]);
      await queries.query(set, ['serves', String(serves)]);
    }
    return missing.map(({ version }) => version);
  });
}

function refuseNewer({ version, serves }: { version: number; serves: number }, known: number): number[] {
  if (serves <= known) return [];
  throw new ReefError('schema_too_new', `The database has schema ${version}, this Reef knows up to ${known}`);
}
