import type { Logger } from '../../../base/log.ts';
import { version } from '../../../base/version.ts';
import { ChangeSignal } from '../../../events/change-signal.ts';
import type { Database } from '../../../fleet/database/database.ts';
import { audit } from '../../../fleet/hub/audit.ts';
import { BareRepositories } from '../../../fleet/hub/bare-repositories.ts';
import { type FleetAccess, FleetTokens } from '../../../fleet/hub/fleet-tokens.ts';
import { PushGuard } from '../../../fleet/hub/push-guard.ts';
import { refuseBeyondRole } from '../../../fleet/hub/rights.ts';
import { newestCursor } from '../../../fleet/store/fleet-events.ts';
import { run } from '../../../process/run.ts';
import { ReefError } from '../../../protocol/errors.ts';
import { Changes } from '../../../store/changes.ts';
import { type Door, openDoor } from '../door/door.ts';
import { fleetCore } from './fleet-core.ts';
import { addFleetRoutes } from './fleet-routes.ts';
import { addGitRoute } from './git-route.ts';

export interface HubOptions {
  database: Database;
  log: Logger;
  host: string;
  port: number;
  origin?: string | undefined;
  /** Where the repositories lie. */
  folder: string;
  env: Readonly<Record<string, string>>;
  pageFolder?: string;
}

/** A push of a large repository takes its time. */
const LIMITS = { headersMs: 10_000, requestMs: 900_000, burst: 400, perSecond: 200 };

/** The hub of a fleet: the door of a home, with the people, the inbox and the repositories of many hosts behind it. */
export async function openHub(options: HubOptions): Promise<Door> {
  const { database, log, env, folder } = options;
  const tokens = new FleetTokens(database, log);
  await tokens.open();
  const bare = new BareRepositories({ folder, run, env });
  const guard = new PushGuard(database, log);
  const core = fleetCore(database, tokens);
  const door = await openDoor({
    ...options,
    tokens,
    core,
    by: 'nobody',
    limits: LIMITS,
    info: () => ({ repository: 'fleet', folder: '', version, lastSeq: 0 }),
    cursor: () => newestCursor(database),
    news: { changes: new Changes(), signal: new ChangeSignal(), lastSeq: () => 0 },
    figures: () => Promise.reject(new ReefError('not_found', 'A hub has no figures of its own')),
    mcp: () => Promise.reject(new ReefError('not_found', 'A hub serves no tools of models')),
    completions: { ask: () => refused() },
    audit: (entry) =>
      void audit(database, entry).catch((error: unknown) => log.error('the audit cannot be written', { error })),
    refuse: (access, what) => refuseBeyondRole(access as FleetAccess, what),
    addRoutes: (app, { closing }) => {
      addGitRoute(app, { bare, guard, env }, closing);
      addFleetRoutes(app, { database, log }, closing);
    },
  });
  return {
    ...door,
    async close() {
      tokens.close();
      await door.close();
    },
  };
}

// biome-ignore lint/correctness/useYield: it ends before the first word
async function* refused(): AsyncGenerator<never> {
  throw new ReefError('not_found', 'A hub answers no questions to models');
}
