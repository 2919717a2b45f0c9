import { lstat, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTcpServer, type Server as SocketListener } from 'node:net';
import type { Logger } from '../../base/log.ts';
import { parseJson } from '../../base/safe-json.ts';
import { type AttachInfo, CLIENT_HEADER, type DaemonInfo, PERSON_HEADER, routes } from '../../protocol/daemon.ts';
import { errorTable } from '../../protocol/error-table.ts';
import { ReefError, toReefError } from '../../protocol/errors.ts';
import { mayUse, type Operation, type User } from '../../protocol/operation.ts';
import { type Caller, type Core, type OperationName, operations } from '../../protocol/operations.ts';
import type { AuditEntry } from '../../store/audit-table.ts';
import { isOperation, parseInput } from '../parse-input.ts';
import { Connections } from './connections.ts';
import { isSameKey } from './credential.ts';

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
  };
  log: Pick<Logger, 'error'>;
  audit(entry: AuditEntry): void;
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
    } else refuse(call, new ReefError('daemon_busy', 'The daemon answers too many calls at once'));
  });
  const connections = new Connections(server);
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
      }),
  };
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
    refuse(call, known);
  }
}

function refuse({ response }: Call, error: ReefError): void {
  if (!response.destroyed) respond(response, errorTable[error.code].status, error.toBody());
}

async function route(options: SocketServerOptions, call: Call): Promise<unknown> {
  const pathname = pathOf(call.request.url);
  const endpoint = `${call.request.method} ${pathname}`;
  const operation = after(`POST ${routes.operation('')}`, endpoint);
  if (operation !== undefined && isOperation(operation)) {
    return operate(options, call, operation);
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

function refuseUser(name: string, row: Pick<Operation, 'for'>, user: User): void {
  if (mayUse(row, user)) return;
  if (user === 'client') throw new ReefError('person_needed', `${name} is for a person at the command line`);
  throw new ReefError('not_yours', `${name} is not for ${user === 'job' ? 'jobs' : 'people'}`);
}

async function home(options: SocketServerOptions, call: Call, endpoint: string): Promise<unknown> {
  const { daemon, audit, caller } = options;
  if (endpoint === `GET ${routes.daemon}`) return daemon.info();
  const attached = after(`GET ${routes.attach('')}`, endpoint);
  if (!attached && endpoint !== `POST ${routes.stop}`) throw new ReefError('not_found', `There is no ${endpoint}`);
  refuseUser(endpoint, { for: ['person'] }, userOf(options, call));
  if (attached) return daemon.attach(unescaped(attached));
  const body = await readJson(call.request);
  const killJobs = (body as { killJobs?: unknown } | null)?.killJobs;
  if (typeof killJobs !== 'boolean') throw new ReefError('bad_request', 'killJobs: expected true or false');
  await daemon.stop(killJobs);
  audit({ by: caller.by, surface: surfaceOf(call.request), operation: 'daemon.stop', outcome: 'ok' });
  return {};
}

async function operate(options: SocketServerOptions, call: Call, operation: OperationName): Promise<unknown> {
  const user = userOf(options, call);
  const surface = user === 'job' ? 'job' : surfaceOf(call.request);
  const by = (user === 'job' ? undefined : clientOf(call.request)) ?? options.caller.by;
  const record = (target: string | undefined, outcome: string) => {
    if (operations[operation].effect === 'reads') return;
    options.audit({ by, surface, operation, ...(target ? { target } : {}), outcome });
  };
  let body: unknown;
  try {
    refuseUser(operation, operations[operation], user);
    body = await readJson(call.request);
    const input = parseInput(operation, body);
    const caller: Caller = { ...options.caller, by, surface, ...(user === 'client' && { isClient: true }) };
    const output = await options.core[operation](input as never, caller, call.signal);
    record(text(output, 'agentId'), 'ok');
    return output;
  } catch (error) {
    record(text(body, 'id') ?? text(body, 'agent'), toReefError(error).code);
    throw error;
  }
}

function unescaped(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch (cause) {
    throw new ReefError('bad_request', `${id} is not an id`, { cause });
  }
}

function respond(response: ServerResponse, status: number, body: unknown): void {
  const json = JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(json),
    'cache-control': 'no-store',
  });
  response.end(json);
}

/** Aborted when the client leaves before it has its answer, or when the server closes. */
function untilGone(response: ServerResponse, closing: AbortSignal): AbortSignal {
  const gone = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) gone.abort(new ReefError('daemon_unavailable', 'The caller went away'));
  });
  return AbortSignal.any([gone.signal, closing]);
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

function text(value: unknown, key: string): string | undefined {
  const field = (value as Record<string, unknown> | null | undefined)?.[key];
  return typeof field === 'string' ? field.slice(0, 200) : undefined;
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

const MAX_BODY_BYTES = 1_048_576;

async function readJson(request: IncomingMessage): Promise<unknown> {
  const type = request.headers['content-type'] ?? '';
  if (!/^application\/json\s*(?:;|$)/i.test(type)) {
    throw new ReefError('unsupported_media_type', `The body must be application/json, not ${type || 'without a type'}`);
  }
  const parsed = parseJson(await readText(request));
  if (!parsed.ok) throw new ReefError('bad_request', `The body is not JSON: ${parsed.why}`);
  // Unknown keys are refused, and these would be gone before a schema sees them.
  if (parsed.dropped) throw new ReefError('bad_request', 'The body has a key that changes prototypes');
  return parsed.value;
}

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  // Reads and drops the rest: a client that is still writing would not see the refusal.
  for await (const chunk of request) {
    size += chunk.length;
    if (size <= MAX_BODY_BYTES) chunks.push(chunk);
    else chunks.length = 0;
  }
  if (size > MAX_BODY_BYTES) throw new ReefError('body_too_large', `The body has ${size} bytes`);
  return Buffer.concat(chunks).toString('utf8');
}

/** Whether a port of the loopback interface can be bound right now. */
export function isPortFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createTcpServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}
