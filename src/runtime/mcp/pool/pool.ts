import type { Clock } from '../../../base/clock.ts';
import { createLease, type Lease } from '../../../base/lease.ts';
import type { Logger } from '../../../base/log.ts';
import { unlessAborted } from '../../../base/wait.ts';
import { Deaths } from '../../../child-servers/deaths.ts';
import { ReefError } from '../../../protocol/errors.ts';
import type { McpApprovals } from '../approval/approvals.ts';
import { type ConnectDeps, connect } from '../connection/connect.ts';
import {
  type AcquireOptions,
  type McpFactory,
  type McpHandle,
  type McpServerSpec,
  type McpStats,
  NO_STATS,
  serverKey,
} from '../factory.ts';
import { Server } from './server.ts';

/** `reef.mcp_pool` of the configuration, in seconds. */
interface PoolSettings {
  idle_timeout_seconds: number;
  cleanup_interval_seconds: number;
  max_idle_servers: number;
  health_check: { interval: number; timeout: number };
}

export interface McpPoolDeps extends ConnectDeps {
  pool: PoolSettings;
  clock: Clock;
  log: Pick<Logger, 'warn'>;
  approvals: Pick<McpApprovals, 'admit'>;
  /** Reads mcp.json, for `reload`. */
  readSpecs(): Promise<ReadonlyMap<string, McpServerSpec>>;
}

interface Entry {
  id: string;
  server: Server;
  /** Leases, and requests that wait for one. */
  refs: number;
  idleSince: number;
  /** mcp.json has changed: the server ends with its last lease. */
  isStale: boolean;
}

/** A server that keeps dying stays off until mcp.json is read again. */
const DEATHS = { windowMs: 60_000, offMs: Number.POSITIVE_INFINITY, delaysMs: [] };

/** Running servers by key, with a count of their holders. */
export class McpPool implements McpFactory {
  readonly #deps: McpPoolDeps;
  readonly #entries = new Map<string, Entry>();
  readonly #deaths: Deaths;
  readonly #endings = new Set<Promise<void>>();
  readonly #closing = new AbortController();
  readonly #stats: McpStats = { ...NO_STATS };
  #isKept = false;
  #serial = 0;

  constructor(deps: McpPoolDeps) {
    this.#deps = deps;
    this.#deaths = new Deaths(deps.clock, DEATHS);
  }

  stats(): McpStats {
    return { ...this.#stats };
  }

  async acquire(spec: McpServerSpec, options: AcquireOptions = {}): Promise<Lease<McpHandle>> {
    this.#closing.signal.throwIfAborted();
    options.signal?.throwIfAborted();
    this.#keep();
    const entry = this.#find(spec) ?? this.#add(spec);
    entry.refs += 1;
    try {
      await unlessAborted(entry.server.ensure(options), options.signal);
    } catch (error) {
      // Not awaited: a caller that gives up leaves at once. The last one ends the start.
      void this.#leave(entry);
      throw error;
    }
    return createLease<McpHandle>(entry.server, () => this.#leave(entry));
  }

  async reload(name?: string): Promise<void> {
    const specs = await this.#deps.readSpecs();
    this.#deaths.forget((key) => name === undefined || key.startsWith(`${name}\n`));
    for (const entry of [...this.#entries.values()]) {
      const { spec, key } = entry.server;
      if (name !== undefined && spec.name !== name) continue;
      entry.server.reapprove();
      const current = specs.get(spec.name);
      entry.isStale = current === undefined || serverKey(current) !== key;
      if (entry.isStale && entry.refs === 0) void this.#drop(entry);
    }
    await Promise.all(this.#endings);
  }

  async close(): Promise<void> {
    this.#closing.abort(new ReefError('mcp_start_failed', 'Reef is closing and starts no MCP server'));
    for (const entry of [...this.#entries.values()]) void this.#drop(entry);
    await Promise.all(this.#endings);
  }

  #find(spec: McpServerSpec): Entry | undefined {
    const entry = spec.share ? this.#entries.get(serverKey(spec)) : undefined;
    if (entry) this.#stats[entry.refs > 0 ? 'active_hit' : 'idle_hit'] += 1;
    else this.#stats.miss += 1;
    return entry;
  }

  #add(spec: McpServerSpec): Entry {
    this.#serial += 1;
    const server: Server = new Server(spec, {
      admit: (what) => this.#deps.approvals.admit(what),
      connect: (what, how) => {
        this.#stats.spawned += 1;
        return connect(what, this.#deps, how);
      },
      died: () => this.#died(entry),
      isOff: () => this.#deaths.offFor(accountOf(server)) > 0,
    });
    const id = spec.share ? server.key : `${server.key} ${this.#serial}`;
    const entry: Entry = { id, server, refs: 0, idleSince: 0, isStale: false };
    this.#entries.set(id, entry);
    return entry;
  }

  #died(entry: Entry): void {
    const { server } = entry;
    this.#deaths.note(accountOf(server));
    const off = this.#deaths.offFor(accountOf(server)) > 0;
    this.#deps.log.warn('an MCP server ended by itself', { server: server.name, off });
    if (entry.refs === 0) void this.#drop(entry);
  }

  async #leave(entry: Entry): Promise<void> {
    entry.refs -= 1;
    if (entry.refs > 0 || this.#entries.get(entry.id) !== entry) return;
    const { server } = entry;
    const isWorthKeeping = server.isAlive && server.spec.share && !entry.isStale && this.#idleMs(server.spec) > 0;
    if (!isWorthKeeping) return await this.#drop(entry);
    entry.idleSince = this.#deps.clock.monotonicMs();
    await this.#makeRoom();
  }

  #idleMs({ idle_timeout_seconds = this.#deps.pool.idle_timeout_seconds }: McpServerSpec): number {
    return idle_timeout_seconds * 1000;
  }

  #idle(): Entry[] {
    return [...this.#entries.values()].filter((entry) => entry.refs === 0);
  }

  async #makeRoom(): Promise<void> {
    const byAge = this.#idle().sort((a, b) => a.idleSince - b.idleSince);
    const tooMany = byAge.slice(0, Math.max(0, byAge.length - this.#deps.pool.max_idle_servers));
    this.#stats.lru_evicted += tooMany.length;
    await Promise.all(tooMany.map((entry) => this.#drop(entry)));
  }

  /** Removes the entry at once, so that nobody finds a server that is ending. */
  #drop(entry: Entry): Promise<void> {
    if (this.#entries.get(entry.id) === entry) this.#entries.delete(entry.id);
    const ending = entry.server
      .close()
      .catch((error: unknown) => this.#deps.log.warn('an MCP server did not end', { server: entry.server.name, error }))
      .finally(() => this.#endings.delete(ending));
    this.#endings.add(ending);
    return ending;
  }

  /** The reaper and the health check run from the first acquire until `close`. */
  #keep(): void {
    if (this.#isKept) return;
    this.#isKept = true;
    const { cleanup_interval_seconds, health_check } = this.#deps.pool;
    void this.#every(cleanup_interval_seconds, () => this.#reap());
    void this.#every(health_check.interval, () => this.#checkHealth());
  }

  async #every(seconds: number, work: () => Promise<void>): Promise<void> {
    const { signal } = this.#closing;
    for (;;) {
      await this.#deps.clock.sleep(seconds * 1000, signal).catch(() => {});
      if (signal.aborted) return;
      await work();
    }
  }

  async #reap(): Promise<void> {
    const now = this.#deps.clock.monotonicMs();
    const old = this.#idle().filter((entry) => now - entry.idleSince >= this.#idleMs(entry.server.spec));
    this.#stats.idle_evicted += old.length;
    await Promise.all(old.map((entry) => this.#drop(entry)));
  }

  /** Pings idle servers only: one in use may be busy for longer than a ping waits. */
  async #checkHealth(): Promise<void> {
    const timeoutMs = this.#deps.pool.health_check.timeout * 1000;
    await Promise.all(
      this.#idle().map(async (entry) => {
        const isWell = await entry.server.ping(timeoutMs).then(
          () => true,
          () => false,
        );
        this.#stats[isWell ? 'health_ok' : 'health_failed'] += 1;
        if (!isWell && entry.refs === 0) await this.#drop(entry);
      }),
    );
  }
}

function accountOf({ name, key }: Server): string {
  return `${name}\n${key}`;
}
