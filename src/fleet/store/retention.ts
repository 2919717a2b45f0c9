import type { Database } from '../database/database.ts';

export interface Keep {
  eventDays: number;
  /** Of runs, usage and audit. */
  recordMonths: number;
}

export const KEEP: Keep = { eventDays: 30, recordMonths: 13 };

/** Above so many events a day their partitions are days. */
const MANY_A_DAY = 10_000_000;

/**
 * Makes the partitions to come and drops those that are over. Only the owner of the schema may. Work that is not over stays
 * however old it is.
 */
export async function applyRetention(
  database: Database,
  keep: Keep = KEEP,
): Promise<{ dropped: string[]; removed: number }> {
  const [row] = await database.query<{ n: number }>(
    "SELECT sum(greatest(reltuples, 0)) AS n FROM pg_class WHERE relname LIKE 'event\\_2%' AND relkind = 'r'",
  );
  const span = (row?.n ?? 0) / keep.eventDays > MANY_A_DAY ? 'day' : 'month';
  await database.query('SELECT reef.make_partitions($1, $2)', [span, span === 'day' ? 14 : 2]);
  const drop = async (parent: string, before: string) => {
    const sql = 'SELECT reef.drop_partitions($1, now() - $2::interval) AS dropped';
    return (await database.query<{ dropped: string[] }>(sql, [parent, before]))[0]?.dropped ?? [];
  };
  const months = `${keep.recordMonths} months`;
  const dropped = [...(await drop('event', `${keep.eventDays} days`)), ...(await drop('usage', months))];
  let removed = 0;
  for (const sql of OLD) removed += (await database.query<{ n: number }>(sql, [months]))[0]?.n ?? 0;
  return { dropped, removed };
}

const counted = (sql: string) => `WITH gone AS (${sql} RETURNING 1) SELECT count(*) AS n FROM gone`;

const OLD = [
  counted('DELETE FROM reef.audit WHERE at < now() - $1::interval'),
  // As long as the run may go on elsewhere, and a while for whoever reads it.
  counted(
    `DELETE FROM reef.blob b WHERE NOT EXISTS (SELECT 1 FROM reef.run r WHERE r.id = b.run
       AND (r.ended_at IS NULL OR r.ended_at >= now() - least($1::interval, interval '14 days')))`,
  ),
  counted("DELETE FROM reef.run WHERE status IN ('ended', 'cancelled') AND ended_at < now() - $1::interval"),
  counted(
    "DELETE FROM reef.job WHERE status IN ('completed', 'killed', 'error', 'stale') AND updated_at < now() - $1::interval",
  ),
  counted('DELETE FROM reef.question WHERE closed_at < now() - $1::interval'),
  counted('DELETE FROM reef.answer WHERE at < now() - $1::interval'),
  counted(
    "DELETE FROM reef.command WHERE state IN ('done', 'failed') AND done_at < now() - least($1::interval, interval '30 days')",
  ),
  counted('DELETE FROM reef.attempt WHERE ended_at < now() - $1::interval'),
  counted('DELETE FROM reef.token WHERE least(revoked_at, expires_at) < now() - $1::interval'),
];
