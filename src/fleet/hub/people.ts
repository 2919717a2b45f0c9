import { createHash, randomBytes } from 'node:crypto';
import { systemClock } from '../../base/clock.ts';
import { createIds } from '../../base/ids.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Database, Queries } from '../database/database.ts';

type Role = 'viewer' | 'operator' | 'admin';

interface Person {
  id: string;
  name: string;
  role: Role;
  mayMerge: boolean;
  /** Undefined: all. */
  repositories?: string[];
}

const DAY_MS = 86_400_000;
const LONGEST_DAYS = 90;

async function addPerson(queries: Queries, person: Omit<Person, 'id'>): Promise<Person> {
  const id = createIds(systemClock)();
  const { name, role, mayMerge, repositories } = person;
  const [row] = await queries.query(
    `INSERT INTO reef.person (id, name, role, may_merge, repositories) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (name) DO NOTHING RETURNING id`,
    [id, name, role, mayMerge, repositories ?? null],
  );
  if (!row) throw new ReefError('name_taken', `There is a person ${name} already`);
  return { id, ...person };
}

/** A token for one person at one device. It is shown here only; the database keeps its hash. */
async function addToken(
  queries: Queries,
  { person, device, days = LONGEST_DAYS }: { person: string; device: string; days?: number },
): Promise<{ token: string; expiresAt: Date }> {
  if (!(days > 0 && days <= LONGEST_DAYS)) {
    throw new ReefError('bad_request', `A token is good for at most ${LONGEST_DAYS} days, not ${days}`);
  }
  const token = randomBytes(32).toString('hex');
  const [row] = await queries.query<{ expires_at: Date }>(
    `INSERT INTO reef.token (hash, person, device, expires_at)
     SELECT $1, id, $3, now() + $4 * interval '1 millisecond' FROM reef.person WHERE name = $2 AND disabled_at IS NULL
     RETURNING expires_at`,
    [hashOf(token), person, device, days * DAY_MS],
  );
  if (!row) throw new ReefError('person_not_found', `There is no person ${person}`);
  return { token, expiresAt: row.expires_at };
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
    await addPerson(queries, { name, role: 'admin', mayMerge: true });
    const { token, expiresAt } = await addToken(queries, { person: name, device: 'first' });
    return { name, token, expiresAt: expiresAt.toISOString() };
  });
}

function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
