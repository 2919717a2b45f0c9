import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import type { Figures } from '../../../app/figures.ts';
import { systemClock } from '../../../base/clock.ts';
import { lazily } from '../../../base/lazily.ts';
import { ReefError, toReefError } from '../../../protocol/errors.ts';
import { Connections } from '../connections.ts';
import { refuse } from '../response.ts';
import type { StreamLimits } from './event-stream.ts';
import { addressOf, bearer, RateLimit, refuseStranger, SECURITY_HEADERS, type Site, sitesOf } from './guards.ts';
import { Metrics } from './metrics.ts';
import { type RouteDeps, routesOf } from './routes.ts';

interface DoorLimits {
  /** Of a request's headers, and of all of it. */
  headersMs: number;
  requestMs: number;
  /** Calls of one token. */
  burst: number;
  perSecond: number;
  stream?: StreamLimits;
}

export interface DoorOptions extends RouteDeps {
  host: string;
  /** 0: any that is free. */
  port: number;
  /** The address of the user's own tunnel or proxy. */
  origin?: string | undefined;
  figures(): Promise<Figures>;
  limits?: DoorLimits;
}

export interface Door {
  port: number;
  address: string;
  /** Refuses new calls, ends open ones. */
  close(): Promise<void>;
}

const LIMITS: DoorLimits = { headersMs: 10_000, requestMs: 30_000, burst: 400, perSecond: 200 };
/** Ten a minute: a person mistypes no code, so whoever is wrong more often is guessing. */
const GUESSES = { burst: 10, perSecond: 10 / 60 };
const CLOSE_GRACE_MS = 1_000;

/** Listens over TCP. The guards stand in one order on every route: Host, Origin, token, type, size, schema, rate. */
export async function openDoor(options: DoorOptions): Promise<Door> {
  options.tokens.start();
  const limits = options.limits ?? LIMITS;
  const closing = new AbortController();
  const mcp = lazily(() => options.mcp());
  const rate = new RateLimit(limits, systemClock.monotonicMs);
  const guesses = new RateLimit(GUESSES, systemClock.monotonicMs);
  const { by, info } = options;
  const metrics = new Metrics({ ...options, caller: { by, surface: 'web' }, version: info().version });
  const app = routesOf({ ...options, mcp: mcp.get }, { closing: closing.signal, rate, guesses, metrics });
  const listener = getRequestListener(app.fetch, { overrideGlobalObjects: false });
  const server = createServer(
    {
      headersTimeout: limits.headersMs,
      requestTimeout: limits.requestMs,
      connectionsCheckingInterval: Math.min(1_000, limits.headersMs),
    },
    (request, response) => {
      try {
        for (const [name, value] of Object.entries(SECURITY_HEADERS)) response.setHeader(name, value);
        refuseStranger(request.headers, sites);
        refuseOddRequest(request);
        enter(request, response);
      } catch (error) {
        refuse(response, toReefError(error));
      }
    },
  );
  const connections = new Connections(server, limits.headersMs);
  const enter = (request: IncomingMessage, response: ServerResponse) => {
    const token = bearer(request.headers);
    const isKnown = token !== undefined && options.tokens.check(token) !== undefined;
    if (!connections.begin(request.socket, isKnown))
      throw new ReefError('daemon_busy', 'The daemon answers too many calls at once');
    response.once('close', () => connections.end());
    void listener(request, response);
  };
  const { host } = options;
  const port = await listen(server, options);
  const sites: readonly Site[] = sitesOf({ host, port, origin: options.origin });
  return {
    port,
    address: addressOf({ host, port }),
    close: async () => {
      const closed = new Promise<void>((resolve) => {
        const force = setTimeout(() => server.closeAllConnections(), CLOSE_GRACE_MS);
        server.close(() => {
          clearTimeout(force);
          resolve();
        });
        closing.abort(new ReefError('daemon_unavailable', 'The door is closing'));
        server.closeIdleConnections();
      });
      metrics.close();
      await (await mcp.made()?.catch(() => undefined))?.close();
      await closed;
    },
  };
}

const PATH = /^\/(?!\/)[^\\?]*(?:\?|$)/;

/** No upgrade to another protocol, and no address of a third party as a target. */
function refuseOddRequest({ headers, method, url = '' }: IncomingMessage): void {
  if (headers.upgrade !== undefined) throw new ReefError('not_found', `This door does not speak ${headers.upgrade}`);
  if (!PATH.test(url)) throw new ReefError('not_found', `There is no ${method} ${url.slice(0, 200)}`);
}

function listen(server: ReturnType<typeof createServer>, { host, port }: DoorOptions): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const message = `Cannot listen at ${host} port ${port}: ${error.message}`;
      reject(new ReefError('port_in_use', message, { cause: error }));
    });
    server.listen({ host, port, exclusive: true }, () => resolve((server.address() as AddressInfo).port));
  });
}
