import { ReefError } from '../../protocol/errors.ts';
import type { Effect, Once } from '../../workflow/runs/once.ts';
import type { Database } from '../database/database.ts';
import type { HostIdentity } from '../store/home-source.ts';

/**
 * Something outside of the worktree, once. It is meant in the database first; whoever finds it meant and not done, after a
 * crash or on another host, asks the target before doing it.
 */
export async function effectOnce<T extends object>(
  database: Database,
  identity: HostIdentity,
  { key, run, kind, happened, act }: Effect<T>,
): Promise<T> {
  const { host, epoch } = identity;
  const fence = ['SELECT reef.fence($1, $2)', [host, epoch]] as const;
  const before = await database.transaction(async (queries) => {
    await queries.query(...fence);
    await queries.query(
      `INSERT INTO reef.effect (key, run, kind, host, epoch) VALUES ($1, $2, $3, $4, $5)
       ON CONFLICT (key) DO UPDATE SET host = excluded.host, epoch = excluded.epoch WHERE reef.effect.state = 'meant'`,
      [key, run, kind, host, epoch],
    );
    const sql = 'SELECT state, result, xmax <> 0 AS "isAgain" FROM reef.effect WHERE key = $1';
    return (await queries.query<{ state: string; result: T; isAgain: boolean }>(sql, [key]))[0];
  });
  if (before?.state === 'done') return before.result;
  const result = (before?.isAgain ? await happened() : undefined) ?? (await act());
  await database.transaction(async (queries) => {
    await queries.query(...fence);
    const set =
      "UPDATE reef.effect SET state = 'done', result = $2 WHERE key = $1 AND host = $3 AND epoch = $4 RETURNING key";
    const [row] = await queries.query(set, [key, JSON.stringify(result), host, epoch]);
    if (!row) throw new ReefError('job_superseded', `The effect ${key} is another host's now`);
  });
  return result;
}

/** The same, and alone in the whole fleet where that is asked for. */
export function onceIn(database: Database, about: { repository: string; self(): HostIdentity }): Once {
  return async (effect) => {
    const act = () => effectOnce(database, about.self(), effect);
    if (effect.alone === undefined) return act();
    const connection = await database.connect();
    try {
      const lock = 'SELECT pg_advisory_lock(hashtextextended($1, 0))';
      await connection.query(lock, [`${effect.kind}:${about.repository}:${effect.alone}`]);
      return await act();
    } finally {
      await connection.close(); // which gives the lock back
    }
  };
}
