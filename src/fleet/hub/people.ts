import { createHash, randomBytes } from 'node:crypto';
import { systemClock } from '../../base/clock.ts';
import { createIds } from '../../base/ids.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Database, Queries } from '../database/database.ts';
import { notify } from '../store/notify.ts';

const ROLES = ['viewer', 'operator', 'admin'] as const;
export type Role = (typeof ROLES)[number];

export interface Person {
  id: string;
  name: string;
  role: Role;
  mayMerge: boolean;
  /** Null: all. */
  repositories: string[] | null;
}

export interface TokenView {
  person: string;
  device: string;
  createdAt: Date;
  expiresAt: Date;
  revokedAt: Date | null;
}

const DAY_MS = 86_400_000;
const LONGEST_DAYS = 90;

export function listPeople(queries: Queries): Promise<Person[]> {
  return queries.query<Person>(
    `SELECT id, name, role, may_merge AS "mayMerge", repositories FROM reef.person WHERE disabled_at IS NULL ORDER BY name`,
  );
}

export async function addPerson(queries: Queries, person: Omit<Person, 'id'>): Promise<Person> {
  const id = createIds(systemClock)();
  const { name, role, mayMerge, repositories } = person;
  const [row] = await queries.query(
    `INSERT INTO reef.person (id, name, role, may_merge, repositories) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (name) DO NOTHING RETURNING id`,
    [id, name, role, mayMerge, repositories],
  );
  if (!row) throw new ReefError('name_taken', `There is, or was, a person ${name}`);
  return { id, ...person };
}

/** With all of their tokens. The name stays in what they did. */
export async function revokePerson(database: Database, name: string): Promise<void> {
  await database.transaction(async (queries) => {
    const disable = 'UPDATE reef.person SET disabled_at = now() WHERE name = $1 AND disabled_at IS NULL RETURNING id';
    const [row] = await queries.query<{ id: string }>(disable, [name]);
    if (!row) throw new ReefError('person_not_found', `There is no person ${name}`);
    await queries.query('UPDATE reef.token SET revoked_at = now() WHERE person = $1 AND revoked_at IS NULL', [row.id]);
    await notify(queries, { kind: 'token', id: row.id });
  });
}

export function listTokens(queries: Queries): Promise<TokenView[]> {
  return queries.query<TokenView>(
    `SELECT p.name AS person, t.device, t.created_at AS "createdAt", t.expires_at AS "expiresAt", t.revoked_at AS "revokedAt"
     FROM reef.token t JOIN reef.person p ON p.id = t.person ORDER BY p.name, t.created_at`,
  );
}

/** A token for one person at one device. It is shown here only; the database keeps its hash. */
export async function addToken(
  queries: Queries,
  { person, device, days = LONGEST_DAYS }: { person: string; device: string; days?: number | undefined },
): Promise<{ token: string; expiresAt: Date }> {
  if (!(days > 0 && days <= LONGEST_DAYS)) {
    throw new ReefError('bad_request', `A token is good for at most ${LONGEST_DAYS} days, not ${days}`);
  }
  const token = randomBytes(32).toString('hex');
  const [row] = await queries.query<{ expires_at: Date; id: string }>(
    `INSERT INTO reef.token (hash, person, device, expires_at)
     SELECT $1, id, $3, now() + $4 * interval '1 millisecond' FROM reef.person WHERE name = $2 AND disabled_at IS NULL
     RETURNING expires_at, person AS id`,
    [hashOf(token), person, device, days * DAY_MS],
  );
  if (!row) throw new ReefError('person_not_found', `There is no person ${person}`);
  await notify(queries, { kind: 'token', id: row.id });
  return { token, expiresAt: row.expires_at };
}

/** Of one device, or all of a person; how many there were. */
export async function revokeTokens(
  queries: Queries,
  { person, device }: { person: string; device?: string | undefined },
): Promise<number> {
  const rows = await queries.query<{ id: string }>(
    `UPDATE reef.token t SET revoked_at = now() FROM reef.person p
     WHERE p.id = t.person AND p.name = $1 AND ($2::text IS NULL OR t.device = $2) AND t.revoked_at IS NULL RETURNING p.id`,
    [person, device ?? null],
  );
  const [first] = rows;
  if (!first) throw new ReefError('token_not_found', `${person} has no such token`);
  await notify(queries, { kind: 'token', id: first.id });
  return rows.length;
}

/** Where nobody is an admin yet; undefined where somebody is. */
export async function addFirstAdmin(
  database: Database,
  name: string,
): Promise<{ name: string; token: string; expiresAt: string } | undefined> {
  return database.transaction(async (queries) => {
    await queries.query('LOCK TABLE reef.person IN EXCLUSIVE MODE');
    const [there] = await queries.query("SELECT 1 FROM reef.person WHERE role = 'admin' AND disabled_at IS NULL");
    if (there) return undefined;
    await addPerson(queries, { name, role: 'admin', mayMerge: true, repositories: null });
    const { token, expiresAt } = await addToken(queries, { person: name, device: 'first' });
    return { name, token, expiresAt: expiresAt.toISOString() };
  });
}

export function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
