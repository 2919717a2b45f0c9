import type { Database, Queries } from '../database/database.ts';
import { askWhatNow } from '../store/poisoned.ts';

/** Lost so often without finishing a block, a run is not tried again by itself. */
const MOST_LOSSES = 3;

interface LostRun {
  id: string;
  repository: string;
  task: string;
  losses: number;
}

/** Hosts whose time is up, by the clock of the database, which has itself been up for that long. */
async function overdue(database: Queries, me: string, ttlMs: number): Promise<string[]> {
  const rows = await database.query<{ id: string }>(
    `SELECT id FROM reef.host WHERE id <> $1 AND state IN ('up', 'unfit', 'draining')
       AND (fenced_at IS NOT NULL OR beat < now() - $2 * interval '1 millisecond')
       AND now() - pg_postmaster_start_time() >= $2 * interval '1 millisecond' ORDER BY id`,
    [me, ttlMs],
  );
  return rows.map(({ id }) => id);
}

/**
 * Takes the runs of hosts that are lost. A free lock proves nothing, since a restart of the database frees all: only a beat
 * that is too old does, judged by one that has itself been connected for as long.
 */
export async function takeOverLost(
  database: Database,
  { host, heldMs, ttl }: { host: string; heldMs: number; ttl: number },
): Promise<string[]> {
  if (heldMs < ttl) return [];
  const taken: string[] = [];
  for (const lost of await overdue(database, host, ttl)) {
    if (await database.transaction((q) => takeOver(q, lost, ttl))) taken.push(lost);
  }
  return taken;
}

async function takeOver(q: Queries, lost: string, ttlMs: number): Promise<boolean> {
  const [lock] = await q.query<{ held: boolean }>(
    "SELECT pg_try_advisory_xact_lock(hashtextextended('lost:' || $1, 0)) AS held",
    [lost],
  );
  if (!lock?.held) return false;
  const [row] = await q.query<{ backend_pid: number | null }>(
    `SELECT backend_pid FROM reef.host WHERE id = $1 AND state IN ('up', 'unfit', 'draining')
       AND (fenced_at IS NOT NULL OR beat < now() - $2 * interval '1 millisecond') FOR UPDATE`,
    [lost, ttlMs],
  );
  if (!row) return false;
  if (row.backend_pid !== null) await endSession(q, row.backend_pid);
  const [{ epoch = 0 } = {}] = await q.query<{ epoch: number }>(
    "UPDATE reef.host SET state = 'lost', epoch = epoch + 1 WHERE id = $1 RETURNING epoch",
    [lost],
  );
  await q.query('UPDATE reef.attempt SET ended_at = now() WHERE host = $1 AND ended_at IS NULL', [lost]);
  const runs = await q.query<LostRun>(
    `UPDATE reef.run SET last_host = host, host = NULL, epoch = NULL,
       place = CASE WHEN moving IS NULL THEN place END, lost_count = lost_count + 1,
       status = CASE WHEN lost_count + 1 >= $2 THEN 'parked' ELSE 'queued' END,
       outcome = CASE WHEN lost_count + 1 >= $2 THEN '{"halt":"run_poisoned"}'::jsonb ELSE outcome END
     WHERE host = $1 AND status IN ('running', 'halted') RETURNING id, repository, task, lost_count AS losses`,
    [lost, MOST_LOSSES],
  );
  for (const run of runs.filter(({ losses }) => losses >= MOST_LOSSES)) await askWhatNow(q, { host: lost, epoch }, run);
  await q.query("SELECT pg_notify('reef', json_build_object('kind', 'run', 'id', '')::text)");
  return true;
}

/** The epoch fences it in any case; this only frees what its session holds. Of another log-in it is not ours to end. */
export async function endSession(q: Queries, pid: number): Promise<void> {
  await q.query(`DO $$ BEGIN
    PERFORM pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = ${Math.trunc(pid)} AND application_name = 'reef';
  EXCEPTION WHEN insufficient_privilege THEN NULL; END $$`);
}
