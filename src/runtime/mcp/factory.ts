import { fingerprint } from '../../base/fingerprint.ts';
import type { Lease } from '../../base/lease.ts';
import type { ReefError } from '../../protocol/errors.ts';
import type { ServerStart } from './server-start.ts';

/** A server of mcp.json with its secrets filled in. Specs with the same key share one process. */
export type McpServerSpec = StdioServerSpec | RemoteServerSpec;

interface ServerTraits {
  /** Meta-tools are named after it. */
  name: string;
  /** If it does not start, the transition fails. */
  required: boolean;
  /** `false` for a stateful server: every lease has its own process, which is never restarted. */
  share: boolean;
  /** Overrides the pool's timeout. */
  idle_timeout_seconds?: number | undefined;
  /** What a person approves. */
  start: ServerStart;
}

export interface StdioServerSpec extends ServerTraits {
  type: 'stdio';
  command: string;
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  cwd: string;
}

export interface RemoteServerSpec extends ServerTraits {
  type: 'http' | 'sse';
  url: string;
  headers: Readonly<Record<string, string>>;
}

/** Equal for servers that are started in exactly the same way. A hash, because it covers secrets. */
export function serverKey(spec: McpServerSpec): string {
  const { required: _, share: __, idle_timeout_seconds: ___, start: ____, ...how } = spec;
  return fingerprint(how);
}

export interface McpTool {
  name: string;
  description: string;
  inputSchema: Readonly<Record<string, unknown>>;
  /** Of its name, description and schema, exactly as the server sent them. */
  hash: string;
}

export interface McpCallResult {
  /** Text blocks joined; other blocks are named. */
  text: string;
  structured?: unknown;
  isError: boolean;
}

/** A server in use. Its process may be replaced after it died; the handle stays. */
export interface McpHandle {
  readonly name: string;
  /** Undefined for remote servers, and between a death and the next call. */
  readonly pid: number | undefined;
  readonly tools: readonly McpTool[];
  /** Names of tools that are not what a person approved. They are not shown and cannot be called. */
  readonly suspended: readonly string[];
  /** Rejects with `mcp_server_gone` if the server dies during the call. The next call starts it again. */
  call(tool: string, args: Readonly<Record<string, unknown>>, signal?: AbortSignal): Promise<McpCallResult>;
}

export interface AcquireOptions {
  signal?: AbortSignal | undefined;
  /** For start and handshake; 30 s by default. */
  timeoutMs?: number | undefined;
}

export const NO_STATS = Object.freeze({
  spawned: 0,
  active_hit: 0,
  idle_hit: 0,
  miss: 0,
  idle_evicted: 0,
  lru_evicted: 0,
  health_ok: 0,
  health_failed: 0,
});

export type McpStats = Record<keyof typeof NO_STATS, number>;

export interface McpFactory {
  acquire(spec: McpServerSpec, options?: AcquireOptions): Promise<Lease<McpHandle>>;
  stats(): McpStats;
  /** Reads mcp.json again. The next acquire starts a changed server anew; holders keep the old one until release. */
  reload(name?: string): Promise<void>;
  close(): Promise<void>;
}

/** The servers of a scope, and those that could not be started. */
export interface McpRuntime {
  readonly servers: ReadonlyMap<string, Lease<McpHandle>>;
  readonly unavailable: ReadonlyMap<string, ReefError>;
}
