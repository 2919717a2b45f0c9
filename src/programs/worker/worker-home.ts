import { join } from 'node:path';
import { openApp } from '../../app.ts';
import type { Clock } from '../../base/clock.ts';
import type { Environment } from '../../base/env.ts';
import { findHome } from '../../base/home.ts';
import type { Logger } from '../../base/log.ts';
import { version } from '../../base/version.ts';
import type { Database } from '../../fleet/database/database.ts';
import type { Dbos } from '../../fleet/engine/dbos.ts';
import { FleetEngine } from '../../fleet/engine/fleet-engine.ts';
import type { Claimed } from '../../fleet/host/claims.ts';
import { fencedCore } from '../../fleet/host/fenced-core.ts';
import { trustGiven } from '../../fleet/host/fleet-trust.ts';
import { openCheckout } from '../../fleet/host/repository-cache.ts';
import type { HostFacts, HostSession } from '../../fleet/host/session.ts';
import type { FleetTimings } from '../../fleet/host/timings.ts';
import type { WorkerHome } from '../../fleet/host/worker.ts';
import { Carrier } from '../../fleet/hub/carrier.ts';
import { onceIn } from '../../fleet/hub/effects.ts';
import type { HubRemote } from '../../fleet/hub/hub-remote.ts';
import type { HomeSource } from '../../fleet/store/home-source.ts';
import { identify } from '../../process/identity.ts';
import { run as runProgram } from '../../process/run.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Core } from '../../protocol/operations.ts';
import { runOperations } from '../../protocol/run-operations.ts';
import { holdLock } from '../../store/home-lock.ts';
import { keyFile } from '../../surfaces/http/credential.ts';
import { isPortFree, serveSocket } from '../../surfaces/http/server.ts';
import type { MovingRuns } from '../../workflow/runs/moving.ts';
import { markAsWorkers, prepareHome } from '../daemon/home.ts';
import { JobSocketServers } from '../daemon/job-sockets.ts';
import { homeSourceOf } from './home-source.ts';
import { forgetMoved, goOnWith, movingOf } from './moved-runs.ts';

interface WorkerHomeDeps {
  database: Database;
  session: HostSession;
  facts: HostFacts;
  clock: Clock;
  log: Logger;
  env: Environment;
  timings: FleetTimings;
  /** Where the work of runs goes, so that other hosts can go on with it. */
  hub: HubRemote | undefined;
  dbos(): Dbos;
}

/** An ordinary home for one repository, whose runs are recorded in the fleet's database. `reef` in its checkout shows it. */
export async function openWorkerHome(
  repository: string,
  deps: WorkerHomeDeps,
): Promise<WorkerHome & { source: HomeSource }> {
  const { database, session, facts, env, log } = deps;
  const folder = join(facts.folder, repository);
  const checkout = await openCheckout({ database, run: runProgram, env: deps.env }, { repository, folder });
  // That of the checkout, so that `reef` there shows what the worker does.
  const home = findHome({ ...env, reefHome: undefined }, checkout.path);
  prepareHome(home);
  const lock = holdLock(home.lock);
  markAsWorkers(home, facts.host);
  const startedAt = deps.clock.now().toISOString();
  const daemon = {
    info: () => ({
      pid: process.pid,
      startTime: identify(process.pid)?.startTime ?? '',
      version,
      home: home.dir,
      socket: home.socket,
      startedAt,
      jobs: app.counts(),
      lastSeq: app.news.lastSeq(),
      fleet: { host: facts.host, ...(session.awaySince && { awaySince: session.awaySince.toISOString() }) },
    }),
    stop: () =>
      Promise.reject(new ReefError('bad_request', 'A worker ends by `reef fleet drain HOST`, not by its homes')),
    attach: () => Promise.reject(new ReefError('not_headful', 'Jobs of a worker have no terminal')),
    door: () => Promise.reject(new ReefError('bad_request', 'The page of a fleet is served by its hub')),
  };
  const audit = (entry: Parameters<typeof app.audit>[0]) => app.audit(entry);
  const fence = { database, self: () => session.last };
  const jobCore = () => fencedCore(app.core, fence);
  const jobSockets = new JobSocketServers({ sockets: home.sockets, core: jobCore, daemon, log, audit });
  let engine: FleetEngine | undefined;
  const runs = (): MovingRuns => {
    if (!app.moving) throw new ReefError('not_a_repository', `git does not work in ${checkout.path}`);
    return app.moving;
  };
  const carrier = new Carrier({
    ...{ database, repository, log, hub: deps.hub, clock: deps.clock, patienceMs: deps.timings.hub },
    gitDir: () => join(checkout.path, '.git'),
    self: () => session.last,
    describe: (run) => runs().describe(run),
  });
  const moved = { database, host: facts.host, log, carrier, runs, engine: () => engine as FleetEngine };
  const app: Awaited<ReturnType<typeof openApp>> = await openApp({
    home,
    env,
    log,
    version,
    jobSockets,
    isPortFree,
    openEngine: (each) => {
      const fleet = { database, repository, dbos: deps.dbos, self: () => session.last, moving: movingOf(moved) };
      engine = new FleetEngine({ ...each, ...fleet });
      return engine;
    },
    fleet: { carry: (work) => carrier.land(work), once: onceIn(database, { repository, self: () => session.last }) },
  });
  const { beginQueued } = app;
  if (!engine || !beginQueued) throw new ReefError('not_a_repository', `git does not work in ${checkout.path}`);
  await forgetMoved(moved);
  await app.start();
  const caller = { by: `uid:${process.getuid?.() ?? 0}` };
  const server = await serveSocket({
    path: home.socket,
    core: app.core,
    caller,
    credential: keyFile(home.person),
    daemon,
    log,
    audit,
  });
  return {
    engine,
    source: homeSourceOf(repository, { app, audit, by: caller.by }),
    forgetMoved: () => forgetMoved(moved),
    async begin(claimed: Claimed) {
      await trustAsFleet(app.core, { database, repository });
      if (claimed.known) return goOnWith(claimed, moved);
      const base = await checkout.fetch();
      const request = runOperations.run.input.parse({ base, ...claimed.spec, task: claimed.task });
      await beginQueued(claimed.id, request, { by: claimed.by || caller.by, surface: 'cli' });
    },
    async close() {
      await server.close();
      await jobSockets.closeAll();
      await app.close();
      lock.release();
    },
  };
}

/** An admin trusted it once, for all hosts. Another hash is asked about as everywhere. */
async function trustAsFleet(
  core: Pick<Core, 'trust'>,
  { database, repository }: { database: Database; repository: string },
): Promise<void> {
  const { signal } = new AbortController();
  const { items } = await core.trust({ hashes: [] }, { by: 'fleet', surface: 'cli' }, signal);
  const given = await trustGiven(database, { repository, items });
  if (given) await core.trust({ hashes: given.hashes }, { by: `fleet:${given.by}`, surface: 'cli' }, signal);
}
