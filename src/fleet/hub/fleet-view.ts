import type { Queries } from '../database/database.ts';

export interface HostView {
  id: string;
  state: string;
  epoch: number;
  used: number;
  slots: number;
  labels: string[];
  version: string | null;
  beat: Date | null;
  beatMs: number | null;
  freeBytes: number | null;
}

export interface FleetRun {
  id: string;
  repository: string;
  task: string;
  status: string;
  host: string | null;
  lastHost: string | null;
  by: string;
  needs: string[];
  queuedAt: Date;
  startedAt: Date | null;
  endedAt: Date | null;
  /** Of a run that ended: `success`, or how it failed. */
  outcome: string | null;
}

export interface RepositoryView {
  id: string;
  name: string;
  url: string;
  defaultBranch: string;
  cap: number;
  weight: number;
  running: number;
  isTrusted: boolean;
}

export function listHosts(queries: Queries): Promise<HostView[]> {
  return queries.query<HostView>(
    `SELECT id, state, epoch, used, slots, labels, version, beat, beat_ms AS "beatMs", free_bytes AS "freeBytes"
     FROM reef.host ORDER BY id`,
  );
}

/** Runs that are not over, then those that ended last. */
export function listRuns(
  queries: Queries,
  { repositories, limit = 100 }: { repositories?: readonly string[] | undefined; limit?: number },
): Promise<FleetRun[]> {
  return queries.query<FleetRun>(
    `SELECT id, repository, task, status, host, last_host AS "lastHost", by, needs,
       queued_at AS "queuedAt", started_at AS "startedAt", ended_at AS "endedAt",
       outcome ->> 'status' AS outcome
     FROM reef.run WHERE $1::text[] IS NULL OR repository = ANY($1)
     ORDER BY status IN ('ended', 'cancelled'), ended_at DESC NULLS FIRST, queued_at DESC LIMIT $2`,
    [repositories ?? null, limit],
  );
}

export function listRepositories(queries: Queries): Promise<RepositoryView[]> {
  return queries.query<RepositoryView>(
    `SELECT id, name, url, default_branch AS "defaultBranch", cap, weight, running, trust IS NOT NULL AS "isTrusted"
     FROM reef.repository ORDER BY name`,
  );
}
