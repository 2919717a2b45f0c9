import { lstat, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTcpServer, type Socket, type Server as SocketListener } from 'node:net';
import type { Logger } from '../../base/log.ts';
import {
  type AttachInfo,
  CLIENT_HEADER,
  type DaemonInfo,
  type DoorInfo,
  PERSON_HEADER,
  routes,
} from '../../protocol/daemon.ts';
import { ReefError, toReefError } from '../../protocol/errors.ts';
import type { User } from '../../protocol/operation.ts';
import type { Core } from '../../protocol/operations.ts';
import type { AuditEntry } from '../../store/audit-table.ts';
import { isOperation } from '../parse-input.ts';
import { Connections } from './connections.ts';
import { isSameKey } from './credential.ts';
import { readJson } from './json-body.ts';
import { operate, refuseUser } from './operate.ts';
import { refuse, respond, untilGone } from './response.ts';
import { UpgradedLines } from './upgrade.ts';

export interface SocketServerOptions {
  path: string;
  core: Core;
  /** With `jobId` this is the socket of a job. It serves only operations, as that job. */
  caller: { by: string; jobId?: string };
  /** What a person shows. Without one, nobody who calls is taken for a person. */
  credential?: string;
  daemon: {
    info(): DaemonInfo | Promise<DaemonInfo>;
    /** Resolves when the answer may be sent; the server is closed after that. */
    stop(killJobs: boolean): Promise<void>;
    attach(id: string): Promise<AttachInfo>;
    /** Opens, closes or describes the door over TCP. It reads what is asked itself. */
    door(asked: unknown): Promise<DoorInfo>;
  };
  /** Serves the reading tools of an MCP client on a connection of its own. Absent: nobody is given one. */
  tools?(line: LineOfClient): void;
  log: Pick<Logger, 'error'>;
  audit(entry: AuditEntry): void;
}

export interface LineOfClient {
  socket: Socket;
  caller: { by: string; surface: 'mcp' };
  /** Counts a call among all others; false when it is one too many. */
  begin(): boolean;
  end(): void;
}

export interface SocketServer {
  /** Refuses new calls, ends open ones, and is gone within `CLOSE_GRACE_MS`. */
  close(): Promise<void>;
}

const CLOSE_GRACE_MS = 1_000;
const LONGEST_CLIENT = 500;

export async function serveSocket(options: SocketServerOptions): Promise<SocketServer> {
  const closing = new AbortController();
  const server = createServer((request, response) => {
    const call = { request, response, signal: untilGone(response, closing.signal) };
    if (connections.begin(request.socket, userOf(options, call) === 'person')) {
      response.once('close', () => connections.end());
      void answer(options, call);
    } else refuse(response, new ReefError('daemon_busy', 'The daemon answers too many calls at once'));
  });
  const connections = new Connections(server);
  const lines = new UpgradedLines();
  if (options.tools)
    server.on('upgrade', (request, socket: Socket) => openLine(options, { request, socket }, { connections, lines }));
  await listenAt(server, options.path);
  return {
    close: () =>
      new Promise((resolve) => {
        const force = setTimeout(() => server.closeAllConnections(), CLOSE_GRACE_MS);
        server.close(() => {
          clearTimeout(force);
          resolve();
        });
        closing.abort(new ReefError('daemon_unavailable', 'The daemon is ending'));
        server.closeIdleConnections();
        lines.close();
      }),
  };
}

function openLine(
  { tools, caller }: SocketServerOptions,
  { request, socket }: { request: IncomingMessage; socket: Socket },
  { connections, lines }: { connections: Connections; lines: UpgradedLines },
): void {
  const line = lines.accept(request, socket);
  if (!line) return;
  tools?.({
    socket: line,
    caller: { by: clientOf(request) ?? caller.by, surface: 'mcp' },
    begin: () => connections.begin(line, false),
    end: () => connections.end(),
  });
}

interface Call {
  request: IncomingMessage;
  response: ServerResponse;
  signal: AbortSignal;
}

async function answer(options: SocketServerOptions, call: Call): Promise<void> {
  try {
    respond(call.response, 200, await route(options, call));
  } catch (error) {
    const known = toReefError(error);
    if (known.code === 'internal') {
      options.log.error('a call failed', { path: call.request.url, error });
    }
    refuse(call.response, known);
  }
}

async function route(options: SocketServerOptions, call: Call): Promise<unknown> {
  const pathname = pathOf(call.request.url);
  const endpoint = `${call.request.method} ${pathname}`;
  const operation = after(`POST ${routes.operation('')}`, endpoint);
  if (operation !== undefined && isOperation(operation)) {
    const user = userOf(options, call);
    const surface = user === 'job' ? 'job' : surfaceOf(call.request);
    const by = (user === 'job' ? undefined : clientOf(call.request)) ?? options.caller.by;
    const caller = { ...options.caller, by, surface } as const;
    return operate(options, { operation, user, caller, input: () => bodyOf(call), signal: call.signal });
  }
  if (options.caller.jobId === undefined) return home(options, call, endpoint);
  throw new ReefError('not_yours', `A job may not use ${pathname}`);
}

/** As it was sent: nothing in a path of ours is escaped but an id, and `URL` would throw at some. */
function pathOf(url = '/'): string {
  return url.split(/[?#]/, 1)[0] ?? '/';
}

function userOf({ caller, credential }: SocketServerOptions, { request }: Call): User {
  if (caller.jobId !== undefined) return 'job';
  const isShown = credential !== undefined && isSameKey(credential, request.headers[PERSON_HEADER]);
  return isShown ? 'person' : 'client';
}

async function home(options: SocketServerOptions, call: Call, endpoint: string): Promise<unknown> {
  const { daemon } = options;
  if (endpoint === `GET ${routes.daemon}`) return daemon.info();
  const attached = after(`GET ${routes.attach('')}`, endpoint);
  const change = attached ? undefined : changes(options, endpoint);
  if (!attached && !change) throw new ReefError('not_found', `There is no ${endpoint}`);
  refuseUser(endpoint, { for: ['person'] }, userOf(options, call));
  return attached ? daemon.attach(unescaped(attached)) : change?.(call);
}

/** What a person does to the daemon itself. */
function changes({ daemon, audit, caller }: SocketServerOptions, endpoint: string) {
  const record = (call: Call, operation: string) =>
    audit({ by: caller.by, surface: surfaceOf(call.request), operation, outcome: 'ok' });
  const known: Record<string, (call: Call) => Promise<unknown>> = {
    [`POST ${routes.stop}`]: async (call) => {
      const killJobs = ((await bodyOf(call)) as { killJobs?: unknown } | null)?.killJobs;
      if (typeof killJobs !== 'boolean') throw new ReefError('bad_request', 'killJobs: expected true or false');
      await daemon.stop(killJobs);
      record(call, 'daemon.stop');
      return {};
    },
    [`POST ${routes.door}`]: async (call) => {
      const asked = (await bodyOf(call)) as { do?: unknown } | null;
      const info = await daemon.door(asked);
      record(call, `door.${asked?.do}`);
      return info;
    },
  };
  return Object.hasOwn(known, endpoint) ? known[endpoint] : undefined;
}

function bodyOf({ request }: Call): Promise<unknown> {
  return readJson(request.headers['content-type'], request);
}

function unescaped(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch (cause) {
    throw new ReefError('bad_request', `${id} is not an id`, { cause });
  }
}

function surfaceOf(request: IncomingMessage): 'cli' | 'mcp' {
  return request.headers['x-reef-surface'] === 'mcp' ? 'mcp' : 'cli';
}

/** Which program an MCP client is, and where it works. A job cannot take the name of one. */
function clientOf({ headers }: IncomingMessage): string | undefined {
  const name = headers[CLIENT_HEADER];
  return typeof name === 'string' && name !== '' ? `mcp:${name.slice(0, LONGEST_CLIENT)}` : undefined;
}

function after(start: string, whole: string): string | undefined {
  return whole.startsWith(start) ? whole.slice(start.length) : undefined;
}

async function removeOldSocket(path: string): Promise<void> {
  const found = await lstat(path).catch(() => undefined);
  if (!found) return;
  if (!found.isSocket())
    throw new ReefError('home_not_writable', `${path} is not a socket: remove it, so that the daemon can listen there`);
  await rm(path);
}

/** An old socket is replaced: the caller holds the lock of the home. */
export async function listenAt(server: SocketListener, path: string): Promise<void> {
  await removeOldSocket(path);
  await new Promise((resolve, reject) => {
    server.once('listening', resolve);
    server.once('error', (error) =>
      reject(new ReefError('home_not_writable', `Cannot listen at ${path}: ${error.message}`, { cause: error })),
    );
    // `listen` binds at once, so the socket never exists with wider rights.
    const mask = process.umask(0o177);
    try {
      server.listen(path);
    } finally {
      process.umask(mask);
    }
  });
}

/** Whether a port of the loopback interface can be bound right now. */
export function isPortFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createTcpServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}
