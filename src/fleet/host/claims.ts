import type { Database } from '../database/database.ts';
import type { HostIdentity } from '../engine/run-records.ts';

export interface Claimed {
  id: string;
  repository: string;
  task: string;
  spec: Record<string, unknown>;
  by: string;
  /** DBOS has it: it goes on, and does not begin. */
  known: boolean;
}

/** Another host gets the run of one that is up only when that one has had time for it. */
const OWN_S = 30;

export interface Room {
  labels: readonly string[];
  slots: number;
}

/**
 * Chooses the next run for a free slot of this host and counts it in, in one transaction. Repositories with the smallest
 * share go first, and in each of them what waits for ten minutes passes every priority. A run whose work did not reach
 * the hub is claimed by the host that has it only.
 */
export async function claimNext(
  database: Database,
  { host, epoch }: HostIdentity,
  { labels, slots }: Room,
): Promise<Claimed | undefined> {
  return database.transaction(async (q) => {
    await q.query('SELECT reef.fence($1, $2)', [host, epoch]);
    const [run] = await q.query<Claimed>(
      `SELECT r.id, r.repository, r.task, r.spec, r.by, r.known FROM reef.run r JOIN reef.repository p ON p.id = r.repository
       WHERE r.status = 'queued' AND r.needs <@ $2::text[] AND p.running < p.cap 
         AND (NOT r.known OR r.last_host = $1 OR r.moving IS NOT NULL AND (r.place IS NULL
           OR r.queued_at < now() - $4 * interval '1 second'
           OR NOT EXISTS (SELECT 1 FROM reef.host o WHERE o.id = r.last_host AND o.state = 'up')))
         AND EXISTS (SELECT 1 FROM reef.host h WHERE h.id = $1 AND h.state = 'up')
         AND (SELECT count(*) FROM reef.run m WHERE m.host = $1 AND m.status IN ('running', 'halted')) < $3
       ORDER BY p.running::float / p.weight, r.queued_at < now() - interval '10 min' DESC, r.priority,
         r.last_host IS NOT DISTINCT FROM $1 DESC, r.queued_at
       LIMIT 1 FOR UPDATE OF r SKIP LOCKED`,
      [host, [...labels], slots, OWN_S],
    );
    if (!run) return undefined;
    const counted = await q.query(
      'UPDATE reef.repository SET running = running + 1 WHERE id = $1 AND running < cap RETURNING running',
      [run.repository],
    );
    if (counted.length === 0) return undefined; // another host was quicker
    await q.query(
      `UPDATE reef.run SET status = 'running', host = $2, last_host = $2, epoch = $3,
         moves = moves + CASE WHEN moving IS NULL OR starts_with(place, $2 || '/') THEN 0 ELSE 1 END WHERE id = $1`,
      [run.id, host, epoch],
    );
    return run;
  });
}
