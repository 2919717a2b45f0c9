import { AsyncLocalStorage } from 'node:async_hooks';
import type { DBOS } from '@dbos-inc/dbos-sdk';
import type { Environment } from '../../base/env.ts';
import type { Logger } from '../../base/log.ts';
import type { Json } from '../../protocol/workflow.ts';
import type { EntryData } from '../../workflow/durable/journal.ts';
import { openDatabase, openPool } from '../database/open-database.ts';
import { Silence } from '../database/silence.ts';
import { loadPackage } from '../load-package.ts';

/** What DBOS records of a run or of one of its children. */
export interface Order {
  repository: string;
  name: string;
  version: number;
  input: Json;
  /** Only of a child: its run, and its key there. */
  of?: { run: string; key: string };
}

type Walk = (order: Order) => Promise<EntryData>;

interface LaunchOptions {
  url: string;
  host: string;
  /** Of this life of the worker, and of no other: what a former one ran is taken up by a claim only. */
  boot: string;
  /** The number of the interpreter. Only runs of the same number are dequeued. */
  version: number;
  silence?: Silence;
  log: Logger;
  walk(id: string, order: Order): Promise<EntryData>;
}

export interface Dbos {
  api: typeof DBOS;
  queue: string;
  /** Goes on with a run or a branch on this host, whichever interpreter began it. */
  resume(id: string): Promise<void>;
  walk: Walk;
  errors: Pick<
    typeof import('@dbos-inc/dbos-sdk').Error,
    'DBOSUnexpectedStepError' | 'DBOSWorkflowCancelledError' | 'DBOSWorkflowConflictError'
  >;
  /** Outside of the run whose step calls: what is begun there is nobody's child. */
  outside<T>(work: () => T): T;
  close(): Promise<void>;
}

/** We count attempts ourselves, and by what was lost, not by what was resumed. */
const MOST_RECOVERIES = 1_000_000;
const POOL = 5;
/** A worker has no right to change tables; whoever prepares the database calls `migrateDbos`. */
const ROLE = 'reef_app';

const load = () => loadPackage('@dbos-inc/dbos-sdk', () => import('@dbos-inc/dbos-sdk'));

/** DBOS is one per process, and so is what this returns until it is closed. */
export async function launchDbos(options: LaunchOptions): Promise<Dbos> {
  const { url, host, boot, version, log, walk, silence = new Silence() } = options;
  const { DBOS: api, Error: errors } = await load();
  // Its own would wait for as long as a dead link is silent.
  const pool = await openPool(url, { role: ROLE, size: POOL, silence });
  const outside = AsyncLocalStorage.snapshot();
  const queue = queueOf(host);
  api.setConfig({
    name: 'reef',
    systemDatabaseUrl: url,
    systemDatabasePool: pool,
    executorID: `${host}/${boot}`,
    applicationVersion: String(version),
    listenQueues: [queue],
    runMigrations: false,
    logger: quiet(log),
  });
  const registered = api.registerWorkflow((order: Order) => walk(api.workflowID ?? '', order), {
    name: 'walk',
    maxRecoveryAttempts: MOST_RECOVERIES,
  });
  await api.launch();
  await api.registerQueue(queue, { onConflict: 'always_update' });
  const close = async () => {
    await api.shutdown({ deregister: true });
    await pool.end().catch(() => undefined);
  };
  const resume = (id: string) => outside(() => resumeHere(api, { id, queue, version: String(version) }));
  return { api, queue, resume, walk: registered, errors, outside, close };
}

interface Resumed {
  id: string;
  queue: string;
  version: string;
}

/**
 * Only runs of the same version are dequeued, so that one of another is stamped anew. All of its steps stay; messages that
 * nobody has read are dropped by this, and each wait wakes itself when its answer is there.
 */
async function resumeHere(api: typeof DBOS, { id, queue, version }: Resumed): Promise<void> {
  const known = await api.getWorkflowStatus(id);
  if (known?.applicationVersion === version) {
    await api.resumeWorkflow(id, { queueName: queue });
    return;
  }
  const steps = await api.listWorkflowSteps(id);
  const startStep = Math.max(-1, ...(steps ?? []).map(({ functionID }) => functionID)) + 1;
  await api.cancelWorkflow(id); // only what is stopped is stamped
  await api.rewindWorkflow(id, { startStep, applicationVersion: version, queueName: queue });
}

const GRANTS = [
  `GRANT USAGE ON SCHEMA dbos TO ${ROLE}`,
  ...['ALL PRIVILEGES ON ALL TABLES', 'ALL PRIVILEGES ON ALL SEQUENCES', 'EXECUTE ON ALL FUNCTIONS'].map(
    (right) => `GRANT ${right} IN SCHEMA dbos TO ${ROLE}`,
  ),
];

/** By whoever may make tables. Its own command for this prints what it does to standard output. */
export async function migrateDbos(url: string, env: Environment): Promise<void> {
  const { DBOS: api } = await load();
  const logger = { debug() {}, info() {}, warn() {}, error() {} };
  api.setConfig({ name: 'reef', systemDatabaseUrl: withLimit(url), listenQueues: [], logger });
  await api.launch();
  await api.shutdown({ deregister: true });
  const database = await openDatabase(url, { env });
  try {
    for (const grant of GRANTS) await database.query(grant);
  } finally {
    await database.close();
  }
}

const queueOf = (host: string) => `host:${host}`;

/** Otherwise it sets this with a statement of its own, on a connection that is already used for another. */
function withLimit(text: string): string {
  const url = new URL(text);
  url.searchParams.set('options', '-c idle_in_transaction_session_timeout=60000');
  return String(url);
}

/** What it tells of every run is told by our own events. */
function quiet(log: Logger) {
  const textOf = (said: unknown) => (said instanceof Error ? said.message : String(said));
  return {
    info() {},
    debug() {},
    warn: (said: unknown) => log.debug('DBOS warns', { said: textOf(said) }),
    error: (said: unknown) => log.warn('DBOS has an error', { said: textOf(said) }),
  };
}
