import type { Logger } from '../../base/log.ts';
import type { Database } from '../../fleet/database/database.ts';
import type { FleetEngine } from '../../fleet/engine/fleet-engine.ts';
import type { Moving } from '../../fleet/engine/moved-records.ts';
import type { Claimed } from '../../fleet/host/claims.ts';
import type { Carrier } from '../../fleet/hub/carrier.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { MovedRun, MovingRuns } from '../../workflow/runs/moving.ts';

interface Deps {
  database: Database;
  host: string;
  log: Logger;
  carrier: Carrier;
  runs(): MovingRuns;
  engine(): FleetEngine;
}

/** What the engine asks of the home. */
export function movingOf({ runs, carrier }: Pick<Deps, 'runs' | 'carrier'>): Moving {
  return {
    folder: () => runs().folder,
    worktreeOf: (run) => runs().worktreeOf(run)?.id,
    branchOf: (run) => runs().worktreeOf(run)?.branch,
    worktreeOfStep: (key) => runs().worktreeOfTask(key),
    begin: (run) => carrier.begin(run),
    blob: (address) => runs().blob(address),
    keepBlob: (address, bytes) => runs().keepBlob(address, bytes),
  };
}

interface Row {
  moving: MovedRun | null;
  place: string | null;
  moves: number;
}

/** Goes on with a run that has begun: where it was left on this host, or else with what the hub has of it. */
export async function goOnWith({ id }: Claimed, { database, host, carrier, runs, engine }: Deps): Promise<void> {
  const sql = "SELECT moving, place, moves FROM reef.run WHERE id = $1 AND host = $2 AND status = 'running'";
  const [row] = await database.query<Row>(sql, [id, host]);
  if (!row) return;
  const { moving, place, moves } = row;
  if (moving === null || place === `${host}/${runs().worktreeOf(id)?.id}`) {
    await engine().resume(id);
    return runs().goOn(id);
  }
  if (runs().isTaken(id, moves)) return runs().goOn(id);
  const { checkpoint: from, isInFork } = await engine().leftAt(id);
  if (isInFork) throw new ReefError('host_lost', 'Its host was lost while branches of a fork were at work');
  await carrier.bring(id, from);
  await runs().take(id, moving, { from, times: moves });
}

/** Whatever works here for a run that is elsewhere now ends. */
export async function forgetMoved(deps: Deps): Promise<void> {
  const { log, runs } = deps;
  for (const { id, worktreeId } of await movedAway(deps)) {
    log.warn('another host has this run', { run: id });
    runs().forget(id);
    void runs().cleanUp(id, worktreeId);
  }
}

/** Which of this home's runs are another host's, or nobody's. */
async function movedAway({ database, host, runs }: Pick<Deps, 'database' | 'host' | 'runs'>) {
  const here = runs().open;
  if (here.length === 0) return [];
  const sql = 'SELECT id, place, host FROM reef.run WHERE id = ANY($1) AND moving IS NOT NULL';
  type Found = Pick<Row, 'place'> & { id: string; host: string | null };
  const rows = await database.query<Found>(sql, [here.map(({ id }) => id)]);
  return here.filter(({ id, worktreeId, state }) => {
    const row = rows.find((each) => each.id === id);
    const isComing = row?.host === host && state === 'waiting';
    return row !== undefined && row.place !== `${host}/${worktreeId}` && !isComing;
  });
}
