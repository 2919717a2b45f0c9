import { randomUUID } from 'node:crypto';
import { systemClock } from '../../../base/clock.ts';
import { createRedactor } from '../../../base/redact.ts';
import { settledWithin, unlessAborted } from '../../../base/wait.ts';
import { followLog, lastWords } from '../../../child-servers/server-log.ts';
import { launchBound } from '../../../process/bound.ts';
import type { Capabilities } from '../../../process/capabilities.ts';
import { allowedEnv } from '../../../process/environment.ts';
import { ReefError, toReefError } from '../../../protocol/errors.ts';
import type { McpServerSpec, RemoteServerSpec, StdioServerSpec } from '../factory.ts';
import { type Backing, type Connection, converse } from './connection.ts';
import { ProcessTransport } from './process-transport.ts';

export interface ConnectDeps {
  capabilities: Capabilities;
  /** Servers inherit from it what the allow-list for child processes permits. */
  env: Readonly<NodeJS.ProcessEnv>;
  /** Reef's version, for the handshake. */
  version: string;
}

export interface ConnectOptions {
  signal: AbortSignal;
  timeoutMs: number;
}

const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;
/** An abort has to be over within 2 s. */
const ABORT_GRACE_MS = 300;
/** How long the end of a remote session may take. */
const FAREWELL_MS = 1_000;

/** Starts a server and does the handshake. When this rejects, nothing of the server is left. */
export async function connect(spec: McpServerSpec, deps: ConnectDeps, options: ConnectOptions): Promise<Connection> {
  options.signal.throwIfAborted();
  const timeout = AbortSignal.timeout(options.timeoutMs);
  const signal = AbortSignal.any([options.signal, timeout]);
  let backing: Backing | undefined;
  const reasonOf = async (error: unknown): Promise<string> => {
    if (timeout.aborted) return `no answer within ${options.timeoutMs / 1000} s`;
    if (options.signal.aborted || !backing?.isLost(error)) return toReefError(error).message;
    return backing.lastWords();
  };
  try {
    backing = await (spec.type === 'stdio' ? startProcess(spec, deps) : remote(spec));
    signal.throwIfAborted();
    // The SDK checks its signal only between two messages.
    return await unlessAborted(converse(backing, { name: spec.name, version: deps.version, signal }), signal);
  } catch (error) {
    const why = await reasonOf(error);
    await backing?.end(ABORT_GRACE_MS);
    if (options.signal.aborted) throw options.signal.reason;
    throw new ReefError('mcp_start_failed', `MCP server ${spec.name} did not start: ${why}`, { cause: error });
  }
}

async function startProcess(spec: StdioServerSpec, deps: ConnectDeps): Promise<Backing> {
  const { ReadBuffer, serializeMessage } = await import('@modelcontextprotocol/client');
  const env = allowedEnv(deps.env, [], spec.env);
  const program = { file: spec.command, args: spec.args, cwd: spec.cwd, env, tag: `mcp-${randomUUID()}` };
  const process = await launchBound(program, deps.capabilities);
  const log = followLog(process.stderr, { redact: createRedactor(Object.values(spec.env)) });
  const buffer = new ReadBuffer({ maxBufferSize: MAX_MESSAGE_BYTES });
  const transport = new ProcessTransport(process, { buffer, serialize: serializeMessage });
  return {
    transport,
    pid: process.identity.pid,
    isLost: () => !transport.isOpen,
    async lastWords() {
      const { how, said } = await lastWords(process, log);
      return said === '' ? how : `${how}:\n${said}`;
    },
    async end(graceMs) {
      await process.close({ graceMs });
    },
  };
}

async function remote({ type, url, headers }: RemoteServerSpec): Promise<Backing> {
  const sdk = await import('@modelcontextprotocol/client');
  const options = { requestInit: { headers: { ...headers } } };
  const isLost = (error: unknown) => !(error instanceof sdk.ProtocolError);
  const lost = async () => 'the connection is lost';
  if (type === 'sse') {
    const transport = new sdk.SSEClientTransport(new URL(url), options);
    return { transport, pid: undefined, isLost, lastWords: lost, end: () => transport.close() };
  }
  const transport = new sdk.StreamableHTTPClientTransport(new URL(url), options);
  const end = async () => {
    const farewell = transport.terminateSession().catch(() => {}); // a server without sessions refuses, which is fine
    await settledWithin(systemClock, FAREWELL_MS, farewell);
    await transport.close();
  };
  return { transport, pid: undefined, isLost, lastWords: lost, end };
}
