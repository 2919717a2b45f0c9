import { existsSync, realpathSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { resolve } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { settledWithin } from '../../base/wait.ts';
import { readCheckout } from '../../git/checkout.ts';
import type { BoundProcess, BoundSpec } from '../../process/bound.ts';
import type { SandboxSpec } from '../../process/sandbox.ts';
import { ReefError } from '../../protocol/errors.ts';
import { McpServerError, noActiveServer } from '../client/mcp-server-error.ts';
import { type Connection, type JsonRpcClient, StdioClient } from '../client/stdio-client.ts';
import { type ActivitySource, Lifecycle } from './lifecycle.ts';
import { ManagedProcess } from './managed-process.ts';
import { checkProgram, memoryEnv, type ServerCommand } from './server-command.ts';
import { TIMINGS, type Timings } from './timings.ts';

export interface ServerManagerOptions {
  server: ServerCommand;
  /** A bound launch, because the server must not outlive Reef. */
  launch(spec: BoundSpec): Promise<BoundProcess>;
  clock: Clock;
  log: Pick<Logger, 'warn'>;
  /** The sandbox of a server, which parses what an agent wrote. */
  sandboxOf?(worktreePath: string): SandboxSpec | undefined;
  /** Like the server itself read anew for each that starts. */
  readonly maxMemoryMb?: number | undefined;
  readonly maxServers?: number | undefined;
  connect?(process: BoundProcess, connection: Connection): JsonRpcClient;
  timings?: Partial<Timings>;
}

const MEGABYTE = 1024 * 1024;
const MEMORY_MB = 256;
const MOST_SERVERS = 8;
const POLL_MS = 50;
/** To look at all files is as quick as to look at so many by their names. */
const MOST_ANNOUNCED = 200;

/** Owns every analysis server: one process per active worktree, never two. */
export class R_Mcp_ServerManager {
  static #installed: R_Mcp_ServerManager | undefined;

  readonly #options: ServerManagerOptions;
  readonly #timings: Timings;
  readonly #servers = new Map<string, ManagedProcess>();
  /** Servers that are ending: nobody finds them any more, but their processes may still exist. */
  readonly #leaving = new Map<string, Promise<void>>();
  readonly #lifecycle: Lifecycle;
  #starts = 0;
  #isClosed = false;

  constructor(options: ServerManagerOptions) {
    const { clock, log } = options;
    this.#options = options;
    this.#timings = { ...TIMINGS, ...options.timings };
    this.#lifecycle = new Lifecycle({
      clock,
      log,
      timings: this.#timings,
      ceilingMb: () => this.#memoryMb(),
      servers: this.#servers,
      up: (path) => this.spinUpServer(path),
      down: (path) => this.spinDownServer(path),
    });
  }

  /** The manager of the running app, for callers outside Reef. Reef's own code gets it passed in. */
  static getInstance(): R_Mcp_ServerManager {
    const manager = R_Mcp_ServerManager.#installed;
    if (manager === undefined) throw new ReefError('internal', 'No app runs in this process.');
    return manager;
  }

  static install(manager: R_Mcp_ServerManager | undefined): void {
    R_Mcp_ServerManager.#installed = manager;
  }

  async spinUpServer(worktreePath: string): Promise<void> {
    const path = await worktreeRoot(worktreePath);
    const running = this.#servers.get(path);
    if (running?.isUsable) {
      this.#options.log.warn('An analysis server already runs for this worktree', { worktreePath: path });
    }
    await (running ?? this.#start(path)).usable;
  }

  /** Resolves when the processes of the server are gone. An unknown worktree is no error. */
  async spinDownServer(worktreePath: string): Promise<void> {
    const path = this.#keyOf(worktreePath);
    this.#lifecycle.cancelRestart(path);
    await this.#servers.get(path)?.leave('ended');
    await this.#leaving.get(path);
  }

  getClientFor(worktreePath: string): JsonRpcClient | undefined {
    return this.#servers.get(this.#keyOf(worktreePath))?.client;
  }

  /** Waits for the first scan, but not forever: an incomplete answer says so itself. */
  async ensureServer(worktreePath: string): Promise<JsonRpcClient> {
    const path = await worktreeRoot(worktreePath);
    const server = this.#servers.get(path) ?? this.#start(path);
    server.activity.touch();
    await server.connected.catch(() => server.usable); // rejects as well, after the process is gone
    await settledWithin(this.#options.clock, this.#timings.usable, server.usable);
    const { client } = server;
    if (client === undefined) throw noActiveServer(path);
    return client;
  }

  /**
   * Tells the server of a worktree which files were just written, so that it reads them before anybody asks; none named: any may have
   * been. Without a server there is nobody to tell.
   */
  announce(worktreePath: string, paths: readonly string[]): void {
    const server = this.#servers.get(this.#keyOf(worktreePath));
    server?.activity.touch();
    server?.client?.notify('reef/changed', { paths: paths.length > MOST_ANNOUNCED ? [] : paths });
  }

  /** Starts and ends servers as the source reports activity. Returns a function that stops this. */
  follow(source: ActivitySource): () => void {
    return source.onChange(({ worktreePath, active, removed }) => {
      this.#lifecycle.note(this.#keyOf(worktreePath), { active, removed });
    });
  }

  /** `pid` is the first process of the tree. Undefined during its launch. */
  running() {
    return [...this.#servers.values()].map(({ worktreePath, process, isUsable }) => ({
      worktreePath,
      pid: process?.identity.pid,
      isUsable,
    }));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#lifecycle.close();
    await Promise.all([...this.#servers.values()].map((server) => server.leave('ended')));
    await Promise.all(this.#leaving.values());
  }

  #start(path: string): ManagedProcess {
    const { server: command, launch, clock, connect = connectStdio } = this.#options;
    this.#refuse(path);
    checkProgram(command, path);
    this.#lifecycle.cancelRestart(path);
    const server: ManagedProcess = new ManagedProcess({
      worktreePath: path,
      spec: this.#specFor(path),
      launch,
      connect,
      clock,
      timings: this.#timings,
      admit: (signal, take) => this.#makeRoom(path, signal, take),
      onLeaving: () => this.#remove(server),
    });
    this.#servers.set(path, server);
    this.#lifecycle.watch();
    return server;
  }

  #refuse(worktreePath: string): void {
    if (this.#isClosed) throw new McpServerError('no_active_server', 'Reef is closing.', { worktreePath });
    const waitMs = this.#lifecycle.unavailableFor(worktreePath);
    if (waitMs === 0) return;
    const message = `The analysis server of this worktree died too often; it is tried again in ${Math.ceil(waitMs / 1000)} s.`;
    throw new McpServerError('analysis_server_unavailable', message, { worktreePath });
  }

  #memoryMb(): number {
    return this.#options.maxMemoryMb ?? MEMORY_MB;
  }

  #specFor(path: string): BoundSpec {
    const { server, sandboxOf } = this.#options;
    this.#starts += 1;
    return {
      file: server.command,
      args: server.args(path, this.#memoryMb()),
      cwd: path,
      env: { ...server.env, ...memoryEnv(this.#memoryMb()) },
      tag: `analysis-${process.pid}-${this.#starts}`,
      sandbox: sandboxOf?.(path),
    };
  }

  /**
   * Resolves when one more process may start. Ends the least recently used server that is idle. `take` is called in the same
   * tick in which room was found, or two starts would take it.
   */
  async #makeRoom(worktreePath: string, signal: AbortSignal, take: () => void): Promise<void> {
    const { clock, maxServers } = this.#options;
    const most = Math.max(1, maxServers ?? defaultMaxServers(this.#memoryMb()));
    await this.#leaving.get(worktreePath);
    const deadline = clock.monotonicMs() + this.#timings.busy;
    for (;;) {
      signal.throwIfAborted();
      const admitted = [...this.#servers.values()].filter(({ isAdmitted }) => isAdmitted);
      if (admitted.length + this.#leaving.size < most) return take();
      const idle = admitted.filter(({ isBusy }) => !isBusy).sort((a, b) => a.activity.lastAt - b.activity.lastAt);
      if (this.#leaving.size > 0) await Promise.race(this.#leaving.values());
      else if (idle[0]) await idle[0].leave('ended');
      else if (clock.monotonicMs() < deadline) await clock.sleep(POLL_MS, signal);
      else throw new McpServerError('analysis_busy', `All ${most} analysis servers are answering.`, { worktreePath });
    }
  }

  #remove(server: ManagedProcess): void {
    const path = server.worktreePath;
    this.#servers.delete(path);
    const leaving = server.gone.then((gone) => {
      this.#leaving.delete(path);
      if (!this.#isClosed) this.#lifecycle.noteGone(path, gone);
    });
    this.#leaving.set(path, leaving);
  }

  /** The key of a worktree. A folder that no longer exists keeps its key. */
  #keyOf(worktreePath: string): string {
    if (this.#servers.has(worktreePath)) return worktreePath;
    try {
      return realpathSync.native(worktreePath);
    } catch {
      return resolve(worktreePath);
    }
  }
}

function connectStdio({ stdin, stdout }: BoundProcess, connection: Connection): JsonRpcClient {
  return new StdioClient({ stdin, stdout, ...connection });
}

/** All servers together may use a quarter of the memory at most. */
function defaultMaxServers(maxMemoryMb: number): number {
  return Math.min(MOST_SERVERS, Math.floor(totalmem() / 4 / (maxMemoryMb * MEGABYTE)));
}

async function worktreeRoot(worktreePath: string): Promise<string> {
  try {
    const path = await realpath(worktreePath);
    await readCheckout(path);
    return path;
  } catch (cause) {
    const what = existsSync(worktreePath)
      ? 'is not the top folder of a git checkout'
      : 'is gone: there is no such folder';
    const message = `${worktreePath} ${what}.`;
    throw new McpServerError('not_a_worktree', message, { worktreePath, cause });
  }
}
