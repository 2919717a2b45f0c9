import type { Client, ClientConfig, Pool, PoolClient, PoolConfig, QueryResultRow } from 'pg';
import type { Environment } from '../../base/env.ts';
import { ReefError } from '../../protocol/errors.ts';
import { loadPackage } from '../load-package.ts';
import { refusePlainRemote } from './address.ts';
import type { Connection, Database, Heard, Queries } from './database.ts';
import { databaseFailure } from './failures.ts';
import { Listener } from './listener.ts';
import { checkSchema } from './migrate.ts';
import { Silence } from './silence.ts';

export interface DatabaseOptions {
  /** Whose rights hold, whoever logs in. Without one those of the log-in, which only preparing the database needs. */
  role?: 'reef_admin' | 'reef_app' | 'reef_read';
  env: Environment;
  /** Connections beside those of `connect` and `listen`. */
  size?: number;
  silence?: Silence;
}

/** A process that stops inside a transaction must not hold its locks for long. */
const IDLE_IN_TRANSACTION_MS = 5_000;
const STATEMENT_MS = 30_000;
/** For a program that repeats a transaction only when the connection was lost. */
const OF_OTHERS_MS = 60_000;
const CONNECT_MS = 10_000;
/** Before whatever stands between forgets a connection on which nothing happens. */
const KEEPALIVE_MS = 60_000;
const POOL = 5;

/** Opens a pool of direct connections. Refuses an insecure way there, a pooler, and a schema of another time. */
export async function openDatabase(url: string, options: DatabaseOptions): Promise<Database> {
  refusePlainRemote(url, options.env);
  const { default: pg } = await loadPackage('pg', () => import('pg'));
  const silence = options.silence ?? new Silence();
  const Client = silence.watched(pg.Client);
  const config = { ...configOf(url, silence, options.role), types: numbersFor(pg.types.getTypeParser) };
  const database = new PooledDatabase(
    poolOf({ ...config, Client, max: options.size ?? POOL }, pg),
    () => new Client(config),
  );
  try {
    await database.refusePooler();
    if (options.role !== undefined && options.role !== 'reef_admin') await checkSchema(database);
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** A pool for a program that asks the database by itself; its connections hold the same rights and limits. */
export async function openPool(url: string, options: { role: string; silence: Silence; size: number }): Promise<Pool> {
  const { default: pg } = await loadPackage('pg', () => import('pg'));
  const { role, silence, size } = options;
  const { statement_timeout, ...config } = configOf(url, silence, role);
  const limit = { idle_in_transaction_session_timeout: OF_OTHERS_MS };
  return poolOf({ ...config, ...limit, Client: silence.watched(pg.Client), max: size }, pg);
}

function poolOf(config: PoolConfig, pg: { Pool: new (config: PoolConfig) => Pool }): Pool {
  const pool = new pg.Pool({ ...config, idleTimeoutMillis: 60_000 });
  pool.on('error', () => undefined); // an idle connection went: the next query takes another one
  return pool;
}

/** By the server's own count a client that is gone holds its locks for two minutes, not for two hours. */
const KEEPALIVE = { tcp_keepalives_idle: 60, tcp_keepalives_interval: 15, tcp_keepalives_count: 4 };

function configOf(url: string, silence: Silence, role: string | undefined): ClientConfig {
  const set = { ...(role !== undefined && { role }), ...KEEPALIVE };
  return {
    connectionString: url,
    application_name: 'reef',
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEPALIVE_MS,
    connectionTimeoutMillis: Math.min(CONNECT_MS, silence.limitMs),
    statement_timeout: STATEMENT_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
    options: Object.entries(set)
      .map(([name, value]) => `-c ${name}=${value}`)
      .join(' '),
  };
}

type TypeParser = (oid: number, format?: 'text' | 'binary') => (text: string) => unknown;

/** Counts stay below 2^53, so bigint and numeric are numbers here. */
function numbersFor(parserOf: TypeParser): ClientConfig['types'] & object {
  return {
    getTypeParser: (oid: number, format?: 'text' | 'binary') =>
      oid === 20 || oid === 1700 ? Number : parserOf(oid, format),
  } as ClientConfig['types'] & object;
}

class PooledDatabase implements Database {
  readonly #pool: Pool;
  readonly #newClient: () => Client;
  readonly #listener: Listener;
  #closed: Promise<void> | undefined;

  constructor(pool: Pool, newClient: () => Client) {
    this.#pool = pool;
    this.#newClient = newClient;
    this.#listener = new Listener(() => this.connect());
  }

  async query<T extends object>(text: string, values: readonly unknown[] = []): Promise<T[]> {
    return rowsOf<T>(this.#pool, text, values);
  }

  async transaction<T>(work: (queries: Queries) => Promise<T>): Promise<T> {
    const client = await this.#take();
    let lost: Error | undefined;
    const lose = (error: Error) => {
      lost = error;
    };
    client.on('error', lose); // between two statements nobody else would hear of it
    try {
      await client.query('BEGIN');
      const result = await work({ query: (text, values = []) => rowsOf(client, text, values) });
      const { command } = await client.query('COMMIT');
      if (command !== 'COMMIT') throw new Error('a transaction went on after one of its statements had failed');
      client.release();
      return result;
    } catch (error) {
      const isIntact = await client.query('ROLLBACK').then(
        () => true,
        () => false,
      );
      client.release(!isIntact);
      throw databaseFailure(lost ?? error);
    } finally {
      client.off('error', lose);
    }
  }

  listen(channel: string, hear: (heard: Heard | undefined) => void): Promise<() => void> {
    return this.#listener.listen(channel, hear);
  }

  async connect(): Promise<Connection> {
    const client = this.#newClient();
    const over = new AbortController();
    const end = (error?: Error) => over.abort(databaseFailure(error ?? new Error('Connection terminated')));
    client.on('error', end);
    client.on('end', () => end());
    await client.connect().catch((error: unknown) => {
      throw databaseFailure(error);
    });
    return {
      backendPid: pidOf(client),
      over: over.signal,
      query: (text, values = []) => rowsOf(client, text, values),
      onNotice: (hear) =>
        client.on('notification', ({ channel, payload }) => hear({ channel, payload: payload ?? '' })),
      close: () => client.end().catch(() => undefined),
    };
  }

  /**
   * What stands between hands out its own session with its own number, and takes the server's away after each
   * transaction: locks and notices of a session would be lost without a word.
   */
  async refusePooler(): Promise<void> {
    const client = await this.#take();
    try {
      const [row] = await rowsOf<{ pid: number }>(client, 'SELECT pg_backend_pid() AS pid', []);
      if (row?.pid === pidOf(client)) return;
      const message = 'A connection pooler stands before the database, and a fleet needs direct connections';
      throw new ReefError('database_pooled', message);
    } finally {
      client.release();
    }
  }

  close(): Promise<void> {
    this.#closed ??= (async () => {
      await this.#listener.close();
      await this.#pool.end().catch(() => undefined);
    })();
    return this.#closed;
  }

  async #take(): Promise<PoolClient> {
    try {
      return await this.#pool.connect();
    } catch (error) {
      throw databaseFailure(error);
    }
  }
}

/** The number that the server, or whatever stands before it, gave this session when it began. */
function pidOf(client: Client | PoolClient): number {
  return (client as unknown as { processID: number }).processID;
}

async function rowsOf<T extends object>(
  on: Pick<Client, 'query'> | Pool,
  text: string,
  values: readonly unknown[],
): Promise<T[]> {
  try {
    const { rows } = await on.query<T & QueryResultRow>(text, [...values]);
    return rows;
  } catch (error) {
    throw databaseFailure(error);
  }
}
