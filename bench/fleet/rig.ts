import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readEnvironment } from '../../src/base/env.ts';
import type { Database } from '../../src/fleet/database/database.ts';
import { openDatabase } from '../../src/fleet/database/open-database.ts';
import { addRepository, asWorker, fleetDatabase } from '../../test/support/fleet/fleet-database.ts';
import { type PostgresServer, startPostgres } from '../../test/support/postgres.ts';
import { disposableFolder } from '../../test/support/temporary-folder.ts';
import { eventually } from '../../test/support/wait.ts';

const WORKER = fileURLToPath(new URL('worker.ts', import.meta.url));

export interface Work {
  blocks: number;
  ms: number;
}

interface Started {
  child: ChildProcess;
  options: { slots?: number; url?: string; timings?: string };
}

/** A real PostgreSQL and worker processes that have no agents. */
export class BenchFleet implements AsyncDisposable {
  readonly server: PostgresServer;
  readonly url: string;
  readonly database: Database;
  readonly #folder = disposableFolder('/var/tmp');
  readonly #workers = new Map<string, Started>();
  #queued = 0;

  /** `isSynced`: what was committed survives a kill of the server. */
  static async open({ isSynced = false } = {}): Promise<BenchFleet> {
    const server = await startPostgres({ tcp: true, isSynced });
    const url = await fleetDatabase(server);
    const admin = await openDatabase(url, { env: readEnvironment() });
    await admin.query('CREATE TABLE bench_target (key text NOT NULL)');
    await admin.query('GRANT SELECT, INSERT ON bench_target TO reef_app');
    await admin.close();
    const database = await asWorker(url);
    await addRepository(database, 'shop', { cap: 1_000 });
    return new BenchFleet(server, url, database);
  }

  private constructor(server: PostgresServer, url: string, database: Database) {
    this.server = server;
    this.url = url;
    this.database = database;
  }

  get hosts(): string[] {
    return [...this.#workers.keys()];
  }

  async start(host: string, options: Started['options'] = {}): Promise<void> {
    const folder = join(this.#folder.path, host);
    mkdirSync(folder, { recursive: true });
    const args = [WORKER, options.url ?? this.url, host, folder, String(options.slots ?? 2)];
    const timings = options.timings ?? 'beat=500,ttl=60000,look=1000,park=600000';
    const env = { ...process.env, REEF_FLEET_TIMINGS: timings };
    const child = spawn(process.execPath, args, { env, stdio: ['pipe', 'pipe', 'inherit'] });
    this.#workers.set(host, { child, options });
    await Promise.race([once(child.stdout as NodeJS.ReadableStream, 'data'), once(child, 'exit')]);
  }

  signal(host: string, signal: NodeJS.Signals): void {
    this.#workers.get(host)?.child.kill(signal);
  }

  /** As its supervisor does it. */
  async killAndStart(host: string): Promise<void> {
    const { child, options } = this.#workers.get(host) ?? {};
    if (child && child.exitCode === null) {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    }
    await this.start(host, options);
  }

  async queue(count: number, work: Work, needs: string[] = []): Promise<void> {
    const sql = `INSERT INTO reef.run (id, repository, task, by, spec, needs)
      SELECT 'run' || lpad(n::text, 6, '0'), 'shop', 't', 'ada', $3, $4 FROM generate_series($1::int, $2::int) n`;
    await this.database.query(sql, [this.#queued + 1, this.#queued + count, JSON.stringify(work), needs]);
    this.#queued += count;
    await this.database.query("SELECT pg_notify('reef', json_build_object('kind', 'run', 'id', '')::text)");
  }

  /** Milliseconds until every run that was queued has ended. */
  async drained(withinMs: number): Promise<number> {
    const begun = performance.now();
    const left = () =>
      this.database
        .query<{ n: number }>("SELECT count(*) AS n FROM reef.run WHERE status NOT IN ('ended', 'cancelled')")
        .catch(() => [{ n: -1 }]);
    await eventually(left, ([row]) => row?.n === 0, { withinMs, everyMs: 20 });
    return performance.now() - begun;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { child } of this.#workers.values()) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    await this.database.close();
    await this.server[Symbol.asyncDispose]();
    this.#folder[Symbol.dispose]();
  }
}
