import { fingerprint } from '../../base/fingerprint.ts';
import type { Lease } from '../../base/lease.ts';
import type { ReefError } from '../../protocol/errors.ts';

/** A server of mcp.json with its secrets filled in. Two specs of equal key are served by one process. */
export type McpServerSpec = StdioServerSpec | RemoteServerSpec;

interface ServerTraits {
  /** As in mcp.json; meta-tools are named after it. */
  name: string;
  /** Without it the transition fails. */
  required: boolean;
  /** `false`, for a stateful server: a process of its own for every lease, never revived. */
  share: boolean;
  /** Overrides the pool's. */
  idleTimeoutSeconds?: number | undefined;
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

/**
 * Who may share a process: whoever would have started it in the same way, down to the order of arguments and every value of
 * the environment. A hash, because those values are secrets.
 */
export function serverKey(spec: McpServerSpec): string {
  if (spec.type === 'stdio') {
    const { name, type, command, args, env, cwd } = spec;
    return fingerprint({ name, type, command, args: [...args], env: { ...env }, cwd });
  }
  const { name, type, url, headers } = spec;
  return fingerprint({ name, type, url, headers: { ...headers } });
}

export interface McpTool {
  name: string;
  description: string;
  inputSchema: Readonly<Record<string, unknown>>;
  /** The server's own claim that the tool changes nothing. */
  readOnly: boolean;
}

export interface McpCallResult {
  /** Text blocks joined, others named; or the structured result where the tool gave one. */
  text: string;
  structured?: unknown;
  isError: boolean;
}

/** A running server as its holders see it: the process behind it may be replaced after a death, the handle stays. */
export interface McpHandle {
  readonly name: string;
  /** Hash of what the server was started with; shows no value of it. */
  readonly key: string;
  /** Of the process now behind the handle; undefined for remote servers and between a death and the next call. */
  readonly pid: number | undefined;
  /** The server's own words about its use, where it has any. */
  readonly instructions: string | undefined;
  readonly tools: readonly McpTool[];
  /** Rejects with `mcp_server_gone` when the server dies under the call; the next call starts it again. */
  call(tool: string, args: Readonly<Record<string, unknown>>, signal?: AbortSignal): Promise<McpCallResult>;
}

export interface AcquireOptions {
  signal?: AbortSignal | undefined;
  /** Where the server's stderr goes; of a shared one, the first to start it decides. */
  logPath?: string | undefined;
  /** For start and handshake; 30 s unless told. */
  timeoutMs?: number | undefined;
}

/** The figures of a factory before its first request. */
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
  /** Re-reads mcp.json. What changed is started anew by the next acquire; holders keep theirs until release. */
  reload(name?: string): Promise<void>;
  close(): Promise<void>;
}

/** What a scope may reach, and what it wanted and could not get. */
export interface McpRuntime {
  readonly servers: ReadonlyMap<string, Lease<McpHandle>>;
  readonly unavailable: ReadonlyMap<string, ReefError>;
}
