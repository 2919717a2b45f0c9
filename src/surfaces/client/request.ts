import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { CLIENT_HEADER, PERSON_HEADER } from '../../protocol/daemon.ts';
import { type ErrorBody, ReefError, toReefError } from '../../protocol/errors.ts';

export interface Exchange {
  socket: string;
  method: 'GET' | 'POST';
  path: string;
  body?: unknown;
  surface: string;
  /** Absent: a client, which may ask but not decide. */
  credential?: string | undefined;
  /** The MCP client that this process serves. */
  client?: string | undefined;
  /** Repeating it does no harm. A connection that breaks before the answer then counts as if nobody had listened. */
  isRepeatable?: boolean;
  /** It may run commands of the project, which take as long as they take. */
  isLong?: boolean;
  signal?: AbortSignal | undefined;
}

/** The server refuses more. Checking first gives a readable error instead of a broken pipe. */
const MAX_BODY_BYTES = 1_048_576;
/** Any other operation takes 45 s at most. A daemon that is silent for a minute hangs. */
const SILENCE_MS = 60_000;
/** A set-up and three gates, on two trees, each up to its own limit. */
const LONG_SILENCE_MS = 3 * 3_600_000;

/** Nobody listens: the request was never sent, so the caller may start a daemon and repeat it. */
export class NobodyListens extends Error {}

/** An error from the daemon, kept as it came: its code may be newer than our table. */
export class DaemonError extends Error {
  readonly body: ErrorBody;

  constructor(body: ErrorBody) {
    super(body.error.message);
    this.name = 'DaemonError';
    this.body = body;
  }
}

/** Sends one request over the socket, and resolves with the parsed body of a 200. */
export async function exchange(exchange: Exchange): Promise<unknown> {
  const body = exchange.body === undefined ? undefined : JSON.stringify(exchange.body);
  if (body !== undefined && Buffer.byteLength(body) > MAX_BODY_BYTES) {
    throw new ReefError('body_too_large', 'The request is over 1 MiB');
  }
  const response = await send(exchange, body);
  const answer = await parsed(response);
  if (response.statusCode === 200) return answer;
  if (isErrorBody(answer)) throw new DaemonError(answer);
  throw new ReefError('internal', `The daemon answered ${response.statusCode} without an error body`);
}

function send(exchange: Exchange, body: string | undefined): Promise<IncomingMessage> {
  // Not imported: an ES import reads all exports of the module, and one of them is a getter that loads undici.
  const { request: httpRequest } = process.getBuiltinModule('node:http');
  return new Promise((resolve, reject) => {
    const headers = {
      'x-reef-surface': exchange.surface,
      ...(exchange.credential !== undefined && { [PERSON_HEADER]: exchange.credential }),
      ...(exchange.client !== undefined && { [CLIENT_HEADER]: encodeURIComponent(exchange.client) }),
      ...(body === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
    };
    const request = httpRequest({
      socketPath: exchange.socket,
      method: exchange.method,
      path: exchange.path,
      headers,
      agent: false,
      timeout: exchange.isLong ? LONG_SILENCE_MS : SILENCE_MS,
      ...(exchange.signal ? { signal: exchange.signal } : {}),
    });
    request.on('response', resolve);
    request.on('timeout', () =>
      request.destroy(new Error(exchange.isLong ? 'no answer for hours' : 'no answer for a minute')),
    );
    request.on('error', (error) => reject(failure(error, exchange)));
    request.end(body);
  });
}

/** Nobody accepted the connection, or it ended before a byte was sent: the call has not happened. */
function isUnheard({ code, syscall }: NodeJS.ErrnoException): boolean {
  const isGone = code === 'ENOENT' || code === 'ENOTDIR' || code === 'ECONNREFUSED';
  return isGone || (code === 'ECONNRESET' && syscall === 'connect');
}

/** When a daemon is killed while it starts a program, the child keeps the socket open for a moment, and answers nothing. */
function isCut({ code }: NodeJS.ErrnoException, { isRepeatable = false }: Exchange): boolean {
  return isRepeatable && (code === 'ECONNRESET' || code === 'EPIPE');
}

function failure(error: NodeJS.ErrnoException, exchange: Exchange): unknown {
  const { signal, socket } = exchange;
  if (signal?.aborted) return signal.reason;
  if (isUnheard(error) || isCut(error, exchange)) return new NobodyListens(socket, { cause: error });
  return new ReefError('daemon_unavailable', `The daemon at ${socket} did not answer: ${error.message}`, {
    cause: error,
  });
}

async function parsed(response: IncomingMessage): Promise<unknown> {
  try {
    return JSON.parse(await text(response));
  } catch (cause) {
    const isAll = cause instanceof SyntaxError;
    const message = isAll ? 'The daemon gave an answer that is not JSON' : 'The daemon ended while it was answering';
    throw new ReefError('daemon_unavailable', message, { cause });
  }
}

export function isErrorBody(value: unknown): value is ErrorBody {
  const error = (value as Partial<ErrorBody> | null)?.error;
  return typeof error?.code === 'string' && typeof error.message === 'string';
}

/** The error to show, whichever side of the socket it comes from. */
export function errorBody(error: unknown): ErrorBody {
  return error instanceof DaemonError ? error.body : toReefError(error).toBody();
}
