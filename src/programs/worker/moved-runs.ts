import type { Logger } from '../../base/log.ts';
import type { Database } from '../../fleet/database/database.ts';
import type { FleetEngine } from '../../fleet/engine/fleet-engine.ts';
import type { Moving } from '../../fleet/engine/moved-records.ts';
import type { Claimed } from '../../fleet/host/claims.ts';
import type { Carrier } from '../../fleet/hub/carrier.ts';
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
  const from = await engine().lastCheckpoint(id);
  await carrier.bring(id, from);
  await runs().take(id, moving, { from, times: moves });
}

/** Whatever works here for a run that is elsewhere now ends. */
export async function forgetMoved(deps: Deps): Promise<void> {
  const { log, runs } = deps;
  for (const run of await movedAway(deps)) {
    log.warn('another host has this run', { run });
    const worktree = runs().worktreeOf(run);
    runs().forget(run);
    void runs().cleanUp(run, worktree?.id ?? '');
  }
}

/** Which of this home's runs are another host's, or nobody's. */
async function movedAway({ database, host, runs }: Pick<Deps, 'database' | 'host' | 'runs'>): Promise<string[]> {
  const here = new Map(runs().open.map(({ id, state }) => [id, state]));
  if (here.size === 0) return [];
  const sql = 'SELECT id, place, host FROM reef.run WHERE id = ANY($1) AND moving IS NOT NULL';
  const rows = await database.query<Pick<Row, 'place'> & { id: string; host: string | null }>(sql, [[...here.keys()]]);
  const isAway = ({ id, place, host: at }: (typeof rows)[number]) =>
    place !== `${host}/${runs().worktreeOf(id)?.id}` && !(at === host && here.get(id) === 'waiting');
  return rows.filter(isAway).map(({ id }) => id);
}
