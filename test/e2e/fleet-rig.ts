import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { stringify } from 'yaml';
import { systemClock } from '../../src/base/clock.ts';
import { createIds } from '../../src/base/ids.ts';
import type { Database } from '../../src/fleet/database/database.ts';
import { addRepository, asWorker, fleetDatabase } from '../support/fleet/fleet-database.ts';
import type { PostgresServer } from '../support/postgres.ts';
import { textOf } from '../support/programs.ts';
import { initRepository } from '../support/repository.ts';
import { ROOT } from '../support/source-files.ts';
import { disposableFolder } from '../support/temporary-folder.ts';
import { eventually, until } from '../support/wait.ts';
import { byBlock, PROJECT, WRITES_IT_RIGHT } from './runs-rig.ts';

export interface RunRow {
  id: string;
  status: string;
  host: string | null;
  epoch: number | null;
  lost_count: number;
  outcome: {
    status?: string;
    value?: { outcome?: string };
    error?: { code: string; message: string };
    halt?: string;
  } | null;
}

const REEF = join(ROOT, 'bin/reef.cjs');

/** A fleet on this machine: a database, a repository, and workers as a person starts them, each with a home of its own. */
export class FleetRig {
  readonly root: string;
  readonly database: Database;
  readonly url: string;
  readonly #remove: () => void;
  readonly #workers = new Map<string, ChildProcess>();
  readonly #hosts = new Set<string>();
  #hub: { child: ChildProcess; address: string } | undefined;
  readonly #newId = createIds(systemClock);

  static async open(server: PostgresServer, { tcp = false } = {}): Promise<FleetRig> {
    const url = await fleetDatabase(server);
    const name = new URL(url).pathname.slice(1);
    return new FleetRig(tcp ? server.url(name, { tcp }) : url, await asWorker(url));
  }

  private constructor(url: string, database: Database) {
    const folder = disposableFolder('/var/tmp');
    this.root = folder.path;
    this.#remove = folder[Symbol.dispose];
    this.url = url;
    this.database = database;
  }

  async addRepository(
    id: string,
    more: { cap?: number; weight?: number } = {},
    files: Record<string, string> = {},
  ): Promise<void> {
    const origin = join(this.root, `${id}-origin`);
    initRepository(origin, { 'sum.test.mjs': PROJECT['sum.test.mjs'], ...files });
    await addRepository(this.database, id, more);
    await this.database.query('UPDATE reef.repository SET url = $2 WHERE id = $1', [id, origin]);
  }

  /** `reef serve` for the fleet; workers that begin later are told of it. */
  async openHub(port?: string): Promise<string> {
    const place = ['--hub', join(this.root, 'hub'), ...(port === undefined ? [] : ['--port', port])];
    const child = spawn(process.execPath, [REEF, 'serve', '--database-url', this.url, ...place, '--json'], {
      cwd: this.root,
      env: { PATH: process.env.PATH, HOME: this.root, NO_COLOR: '1', REEF_DATABASE_URL: this.url },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += chunk));
    const address = await until('the hub serves', () => {
      if (child.exitCode !== null) throw new Error(`reef serve ended with ${child.exitCode}:\n${said}`);
      return /"address":\s*"([^"]+)"/.exec(said)?.[1];
    });
    this.#hub = { child, address };
    return address;
  }

  async closeHub(): Promise<void> {
    const { child } = this.#hub ?? {};
    if (child?.exitCode !== null) return;
    child.kill();
    await once(child, 'exit');
  }

  /** A repository that the hub has as well. */
  async addToHub(id: string): Promise<void> {
    const origin = join(this.root, `${id}-origin`);
    initRepository(origin, { 'sum.test.mjs': PROJECT['sum.test.mjs'] });
    await this.reef('fleet', 'repo', 'add', id, origin, '--hub', join(this.root, 'hub'));
  }

  /** What the hub has of a run, by the ends of the names. */
  async hubRefs(repository: string, run: string): Promise<Record<string, string>> {
    const bare = join(this.root, 'hub', `${repository}.git`);
    const args = ['--git-dir', bare, 'for-each-ref', '--format=%(refname) %(objectname)', `refs/reef/${run}`];
    const { stdout } = await promisify(execFile)('git', args);
    const lines = stdout.split('\n').filter(Boolean);
    return Object.fromEntries(lines.map((line) => line.replace(`refs/reef/${run}/`, '').split(' ')));
  }

  /** As when the machine loses its power: whatever works there is gone at once. */
  async crash(host: string, ...agents: number[]): Promise<void> {
    const life = await this.lifeOf(host);
    const parent = this.#workers.get(host);
    for (const pid of [parent?.pid, life, ...agents]) if (pid !== undefined) process.kill(pid, 'SIGKILL');
    if (parent && parent.exitCode === null && parent.signalCode === null) await once(parent, 'exit');
    this.#workers.delete(host);
  }

  script(name: string, steps: unknown): string {
    const file = join(this.root, `${name}.yaml`);
    writeFileSync(file, stringify(steps));
    return `scripted:${file}`;
  }

  /** An agent that waits until the test lets it go on, then writes what is right. */
  waiting(name: string) {
    const gate = join(this.root, `${name}.go`);
    const begun = join(this.root, `${name}.begun`);
    const wait = `echo begun >> ${begun}; while [ ! -e ${gate} ]; do sleep 0.1; done`;
    const steps = byBlock({ Feature_Implement__GenerateCode: [{ shell: ['sh', '-c', wait] }, ...WRITES_IT_RIGHT] });
    return { gate, begun, spec: { workflow: 'test-fix', agent: this.script(name, steps) } };
  }

  async queue(repository: string, spec: object, more: { needs?: string[] } = {}): Promise<string> {
    const id = this.#newId();
    await this.database.query(
      "INSERT INTO reef.run (id, repository, task, spec, by, needs) VALUES ($1, $2, 'write sum', $3, 'ada', $4)",
      [id, repository, JSON.stringify(spec), more.needs ?? []],
    );
    await this.database.query("SELECT pg_notify('reef', json_build_object('kind', 'run', 'id', $1::text)::text)", [id]);
    return id;
  }

  /** `reef worker`, which is ready when its host beats. */
  async worker(
    host: string,
    options: { args?: string[]; timings?: string; url?: string; env?: NodeJS.ProcessEnv } = {},
  ): Promise<ChildProcess> {
    const place = join(this.root, host);
    mkdirSync(join(place, 'config/reef'), { recursive: true });
    const config = {
      reef: { gates: { test: 'node --test --test-isolation=none' }, sandbox: 'off', timings: { linger: 0 } },
    };
    writeFileSync(join(place, 'config/reef/config.yaml'), stringify(config));
    const args = ['worker', '--host', host, '--repo-cache', join(place, 'cache'), ...(options.args ?? [])];
    if (this.#hub) args.push('--hub', this.#hub.address);
    const child = spawn(process.execPath, [REEF, ...args], {
      cwd: place,
      env: {
        ...this.#envOf(host),
        REEF_DATABASE_URL: options.url ?? this.url,
        REEF_FLEET_TIMINGS: options.timings ?? 'beat=200,ttl=3000,look=500,park=600000',
        ...options.env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => {
        said += chunk;
        writeFileSync(join(place, 'log'), said);
      });
    }
    this.#workers.set(host, child);
    this.#hosts.add(host);
    await until(`the worker ${host} is ready`, () => {
      if (child.exitCode !== null) throw new Error(`reef worker ended with ${child.exitCode}:\n${said}`);
      return said.includes('ready\n');
    });
    return child;
  }

  /** What a person types, with its JSON. */
  async reef(...args: string[]) {
    const env = { PATH: process.env.PATH, HOME: this.root, NO_COLOR: '1', REEF_DATABASE_URL: this.url };
    const { stdout } = await promisify(execFile)(process.execPath, [REEF, ...args, '--json'], { cwd: this.root, env });
    return JSON.parse(stdout);
  }

  /** In a folder of a worker's machine. */
  async reefIn(host: string, cwd: string, ...args: string[]): Promise<{ out: string; err: string }> {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [REEF, ...args], {
      cwd,
      env: this.#envOf(host),
    });
    return { out: stdout, err: stderr };
  }

  log(host: string): string {
    return textOf(join(this.root, host, 'log'));
  }

  /** The process that works, below the one that starts it again. */
  async lifeOf(host: string, not?: number): Promise<number> {
    const parent = this.#workers.get(host)?.pid ?? 0;
    return until(`${host} has a life`, () => {
      const [pid] = textOf(`/proc/${parent}/task/${parent}/children`).split(' ').filter(Boolean).map(Number);
      return pid !== undefined && pid !== not && pid;
    });
  }

  async run(id: string): Promise<RunRow> {
    const sql = 'SELECT id, status, host, epoch, lost_count, outcome FROM reef.run WHERE id = $1';
    const [row] = await this.database.query<RunRow>(sql, [id]);
    if (!row) throw new Error(`no run ${id}`);
    return row;
  }

  runWhen(id: string, isMet: (run: RunRow) => boolean): Promise<RunRow> {
    return eventually(() => this.run(id), isMet, {
      withinMs: 60_000,
      everyMs: 50,
      explain: (last) => this.#explain(last),
    });
  }

  /** As `until`; a failure shows what the hosts say and how the run stands. */
  async until(what: string, isMet: () => boolean, run: string): Promise<void> {
    const explain = async () => this.#explain(await this.run(run));
    await eventually(isMet, Boolean, { what, withinMs: 120_000, everyMs: 50, explain });
  }

  async #explain(last: RunRow): Promise<string> {
    const about = async (sql: string) => (await this.database.query(sql, [last.id])).map((row) => JSON.stringify(row));
    const attempts = await about('SELECT key, attempt, host FROM reef.attempt WHERE run = $1 ORDER BY started_at');
    const questions = await about('SELECT doc FROM reef.question WHERE run = $1');
    const logs = [...this.#hosts].map((host) => `--- ${host}\n${this.log(host).slice(-3_000)}`);
    return [JSON.stringify(last), ...attempts, ...questions, ...logs].join('\n');
  }

  #envOf(host: string): NodeJS.ProcessEnv {
    const place = join(this.root, host);
    const own = { HOME: place, XDG_CONFIG_HOME: join(place, 'config') };
    return { PATH: process.env.PATH, NO_COLOR: '1', XDG_CACHE_HOME: join(ROOT, 'node_modules/.cache'), ...own };
  }

  async exitOf(host: string): Promise<number | null> {
    const child = this.#workers.get(host);
    if (!child) throw new Error(`no worker ${host}`);
    if (child.exitCode === null) await once(child, 'exit');
    return child.exitCode;
  }

  async stop(host: string, signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    const child = this.#workers.get(host);
    if (!child) return null;
    this.#workers.delete(host);
    if (child.exitCode === null) {
      child.kill(signal);
      await once(child, 'exit');
    }
    return child.exitCode;
  }

  async close(): Promise<void> {
    for (const host of [...this.#workers.keys()]) await this.stop(host);
    await this.closeHub();
    await this.database.close();
    this.#remove();
  }
}
