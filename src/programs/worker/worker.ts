import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { systemClock } from '../../base/clock.ts';
import { type Environment, readEnvironment } from '../../base/env.ts';
import { createLogger } from '../../base/log.ts';
import { createRedactor } from '../../base/redact.ts';
import { version } from '../../base/version.ts';
import { databaseUrl } from '../../fleet/database/address.ts';
import type { Database } from '../../fleet/database/database.ts';
import { openDatabase } from '../../fleet/database/open-database.ts';
import { Silence } from '../../fleet/database/silence.ts';
import { launchDbos } from '../../fleet/engine/dbos.ts';
import { HostSession } from '../../fleet/host/session.ts';
import { readTimings } from '../../fleet/host/timings.ts';
import { Worker } from '../../fleet/host/worker.ts';
import { HubRemote, newHostToken } from '../../fleet/hub/hub-remote.ts';
import type { HomeSource } from '../../fleet/store/home-source.ts';
import { openHostStore } from '../../fleet/store/host-store.ts';
import { run } from '../../process/run.ts';
import { toReefError } from '../../protocol/errors.ts';
import { INTERPRETER } from '../../workflow/run/run-body.ts';
import { agentLabels } from './agent-labels.ts';
import { openWorkerHome } from './worker-home.ts';

/** One life of a worker: `reef worker` starts it, and starts it again when it dies. Exit 0 means that the host was drained. */
const { values } = parseArgs({
  options: {
    host: { type: 'string' },
    slots: { type: 'string' },
    label: { type: 'string', multiple: true },
    'repo-cache': { type: 'string' },
    hub: { type: 'string' },
  },
});
/** What a person must mend: starting again would not help. */
const NOT_AGAIN = 78;
const PROBE_MS = 10 * 60_000;

process.exit(
  await runWorker().catch((error: unknown) => {
    const { code, message, retryable } = toReefError(error);
    process.stderr.write(`${code}: ${message}\n`);
    return retryable || code === 'internal' ? 1 : NOT_AGAIN;
  }),
);

/** What was given, and which agents work here: somebody may log one in, or update it, while the worker runs. */
async function labelsNow(env: ReturnType<typeof readEnvironment>): Promise<string[]> {
  return [...new Set([...(values.label ?? []), ...(await agentLabels(env))])];
}

async function runWorker(): Promise<number> {
  const env = readEnvironment();
  const url = databaseUrl({}, env);
  const folder = values['repo-cache'] ?? join(env.cacheHome, 'reef', 'worker');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const log = createLogger({
    write: (line) => void process.stderr.write(line),
    clock: systemClock,
    redact: createRedactor([url]),
  });
  const timings = readTimings(env.all.REEF_FLEET_TIMINGS);
  const facts = {
    host: values.host ?? hostname(),
    boot: randomUUID(),
    labels: await labelsNow(env),
    slots: Number(values.slots ?? 4),
    interpreter: INTERPRETER,
    version,
    folder,
  };
  const silence = new Silence(timings.silence);
  const database = await openDatabase(url, { env, role: 'reef_app', silence });
  const about = { database, facts, timings, clock: systemClock, log };
  const session = new HostSession({
    ...about,
    onSuperseded: () => worker.letGo(),
    onCut: () => silence.cutAll(),
  });
  const sources: HomeSource[] = [];
  const hub = values.hub === undefined ? undefined : openRemote(values.hub, { database, session, env });
  if (!hub) log.warn('no --hub was given: the runs of this host cannot move to another one');
  const worker: Worker = new Worker({
    ...about,
    session,
    openHome: async (repository) => {
      const home = await openWorkerHome(repository, { ...about, session, env, hub, dbos: () => dbos });
      sources.push(home.source);
      return home;
    },
  });
  await session.open();
  const dbos = await launchDbos({
    url,
    log,
    silence,
    host: facts.host,
    boot: facts.boot,
    version: INTERPRETER,
    walk: (id, order) => worker.walk(id, order),
  });
  await worker.start();
  const probing = setInterval(async () => {
    facts.labels = await labelsNow(env).catch(() => facts.labels); // told with the next beat
  }, PROBE_MS);
  const store = openHostStore({ database, log, identity: () => session.last, homes: () => sources });
  log.info('the worker is up', { host: facts.host, slots: facts.slots });
  process.stdout.write('ready\n');
  const stopped = new Promise<number>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve(0));
    process.stdin.once('end', () => resolve(1)).resume(); // whoever started it is gone
  });
  const code = await Promise.race([worker.drained().then(() => 0), stopped]);
  clearInterval(probing);
  await store.close();
  await worker.close();
  await dbos.close();
  await session.close();
  await database.close();
  return code;
}

/** Pushes and fetches with a token that is good for this epoch of the host. */
function openRemote(
  address: string,
  { database, session, env }: { database: Database; session: HostSession; env: Environment },
): HubRemote {
  let known: { epoch: number; token: Promise<string> } | undefined;
  const token = () => {
    const { last } = session;
    if (known?.epoch === last.epoch) return known.token;
    const made = newHostToken(database, last);
    known = { epoch: last.epoch, token: made };
    made.catch(() => {
      known = undefined;
    });
    return made;
  };
  const own = { PATH: env.path, HOME: env.home };
  return new HubRemote({ hub: address.replace(/\/$/, ''), run, env: own, identity: () => session.identity }, token);
}
