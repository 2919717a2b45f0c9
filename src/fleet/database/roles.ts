import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';
import type { Environment } from '../../base/env.ts';
import type { Database, Queries } from './database.ts';
import { openDatabase } from './open-database.ts';

const ROLES = ['reef_admin', 'reef_app', 'reef_read'] as const;
type FleetRole = (typeof ROLES)[number];

/**
 * `reef_admin` owns the schema, `reef_app` reads and writes its rows and can make or change no table, `reef_read` reads
 * all but tokens. Roles belong to the whole server: those that are there are kept.
 */
export async function makeRoles(database: Database): Promise<void> {
  for (const role of ROLES) {
    const login = role === 'reef_admin' ? 'NOLOGIN' : 'LOGIN';
    await database.query(`DO $$ BEGIN CREATE ROLE ${role} ${login};
      EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$`);
    // Who prepares the database acts for them; a superuser may already.
    await database.query(`DO $$ BEGIN IF NOT (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
      EXECUTE format('GRANT ${role} TO %I', current_user); END IF; END $$`);
  }
}

/** Said anew after each migration, since a new table has no rights. */
export async function grantRights(queries: Queries): Promise<void> {
  for (const statement of RIGHTS) await queries.query(statement);
}

const RIGHTS = [
  'GRANT USAGE ON SCHEMA reef TO reef_app, reef_read',
  'GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA reef TO reef_app',
  'GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA reef TO reef_app',
  'GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA reef TO reef_app',
  // What was recorded stays.
  'REVOKE UPDATE, DELETE ON reef.audit FROM reef_app',
  'REVOKE INSERT, UPDATE, DELETE ON reef.meta FROM reef_app',
  'REVOKE EXECUTE ON FUNCTION reef.drop_partitions(text, timestamptz) FROM reef_app',
  'GRANT SELECT ON ALL TABLES IN SCHEMA reef TO reef_read',
  'REVOKE SELECT ON reef.token FROM reef_read',
];

/** Gives a role another password; returns the address with which it logs in. The password is in no log of the server. */
export async function newPassword(url: string, role: FleetRole, env: Environment): Promise<string> {
  const password = randomBytes(24).toString('hex');
  const database = await openDatabase(url, { env });
  try {
    await database.query(`ALTER ROLE ${role} PASSWORD '${scramVerifier(password)}'`);
  } finally {
    await database.close();
  }
  const address = new URL(url);
  address.username = role;
  address.password = password;
  return address.href;
}

/** What the server keeps of a password (RFC 5803), so that it is never sent there. */
function scramVerifier(password: string): string {
  const salt = randomBytes(16);
  const salted = pbkdf2Sync(password, salt, 4_096, 32, 'sha256');
  const keyed = (word: string) => createHmac('sha256', salted).update(word).digest();
  const stored = createHash('sha256').update(keyed('Client Key')).digest('base64');
  return `SCRAM-SHA-256$4096:${salt.toString('base64')}$${stored}:${keyed('Server Key').toString('base64')}`;
}
