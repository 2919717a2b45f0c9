import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { type Context, Hono } from 'hono';
import { z } from 'zod';
import { systemClock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import { errorTable } from '../../../protocol/error-table.ts';
import { ReefError, toReefError } from '../../../protocol/errors.ts';
import type { OperationName } from '../../../protocol/operations.ts';
import { isOperation } from '../../parse-input.ts';
import { Connections } from '../connections.ts';
import { readJson } from '../json-body.ts';
import { type OperationDeps, operate } from '../operate.ts';
import { refuse, untilGone } from '../response.ts';
import type { Access, DoorTokens } from './door-tokens.ts';
import { type News, STREAM_LIMITS, type StreamLimits, streamEvents } from './event-stream.ts';
import { addressOf, bearer, RateLimit, refuseStranger, SECURITY_HEADERS, type Site, sitesOf } from './guards.ts';
import { openApi } from './open-api.ts';
import { PAGE_FOLDER, pageFile } from './page-files.ts';
import { inputAt, restRoutes } from './rest.ts';

/** What a page wants to know first. */
interface PageInfo {
  repository: string;
  folder: string;
  version: string;
  lastSeq: number;
}

interface DoorLimits {
  /** Of a request's headers, and of all of it. */
  headersMs: number;
  requestMs: number;
  /** Calls of one token. */
  burst: number;
  perSecond: number;
  stream?: StreamLimits;
}

export interface DoorOptions extends OperationDeps {
  host: string;
  /** 0: any that is free. */
  port: number;
  /** The address of the user's own tunnel or proxy. */
  origin?: string | undefined;
  tokens: DoorTokens;
  /** Whoever shows a token is this person. */
  by: string;
  info(): PageInfo;
  news: News;
  log: Pick<Logger, 'error'>;
  pageFolder?: string;
  limits?: DoorLimits;
}

export interface Door {
  port: number;
  address: string;
  /** Refuses new calls, ends open ones. */
  close(): Promise<void>;
}

const LIMITS: DoorLimits = { headersMs: 10_000, requestMs: 30_000, burst: 400, perSecond: 200 };
const CLOSE_GRACE_MS = 1_000;

interface Env {
  Bindings: HttpBindings;
  Variables: { access: Access };
}

/** Listens over TCP. The guards stand in one order on every route: Host, Origin, token, type, size, schema, rate. */
export async function openDoor(options: DoorOptions): Promise<Door> {
  options.tokens.start();
  const limits = options.limits ?? LIMITS;
  const closing = new AbortController();
  const app = routesOf(options, { closing: closing.signal, rate: new RateLimit(limits, systemClock.monotonicMs) });
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
    close: () =>
      new Promise((resolve) => {
        const force = setTimeout(() => server.closeAllConnections(), CLOSE_GRACE_MS);
        server.close(() => {
          clearTimeout(force);
          resolve();
        });
        closing.abort(new ReefError('daemon_unavailable', 'The door is closing'));
        server.closeIdleConnections();
      }),
  };
}

interface Guards {
  closing: AbortSignal;
  rate: RateLimit;
}

const loginSchema = z.strictObject({ code: z.string().max(200) });
const eventsSchema = z.strictObject({ since: z.string().max(64).optional() });
const proofSchema = z.strictObject({ tokenId: z.string().max(64), nonce: z.string().min(16).max(256) });

function routesOf(options: DoorOptions, { closing, rate }: Guards): Hono<Env> {
  const { tokens, log } = options;
  const caller = { by: options.by, surface: 'web' } as const;
  const app = new Hono<Env>();
  app.onError((error, c) => {
    const known = toReefError(error);
    if (known.code === 'internal') log.error('a call through the door failed', { path: c.req.path, error });
    return c.json(known.toBody(), errorTable[known.code].status as 400, NOT_STORED);
  });
  app.notFound((c) => {
    throw new ReefError('not_found', `There is no ${c.req.method} ${c.req.path.slice(0, 200)}`);
  });

  app.get('*', async (c, next) => {
    const file = await pageFile(c.req.path, options.pageFolder ?? PAGE_FOLDER);
    if (!file) return next();
    const isKept = file.status === 200 && c.req.path.startsWith('/assets/');
    const headers = {
      'content-type': file.type,
      'cache-control': isKept ? 'max-age=31536000, immutable' : 'no-store',
      vary: 'accept-encoding',
    };
    if (!/\bgzip\b/.test(c.req.header('accept-encoding') ?? ''))
      return new Response(file.body, { status: file.status, headers });
    const zipped = gzipSync(file.body);
    return new Response(zipped, { status: file.status, headers: { ...headers, 'content-encoding': 'gzip' } });
  });
  // Who logs in has no token yet: a flood of guesses slows down the others who log in, and nobody else.
  const unknown = async <S extends z.ZodType>(c: Context<Env>, schema: S): Promise<z.infer<S>> => {
    const input = parsed(schema, await bodyOf(c));
    rate.take('login');
    return input;
  };
  app.post('/v1/login', async (c) => {
    const { code } = await unknown(c, loginSchema);
    return c.json(await tokens.login(code), 200, NOT_STORED);
  });
  app.post('/v1/proof', async (c) => {
    const { tokenId, nonce } = await unknown(c, proofSchema);
    return c.json({ proof: tokens.proof(tokenId, nonce) }, 200, NOT_STORED);
  });

  app.use('*', async (c, next) => {
    const access = tokens.check(bearer(c.env.incoming.headers) ?? '');
    if (!access) throw new ReefError('unauthorized', 'This call shows no token of this home, or one that is over');
    c.set('access', access);
    await next();
  });
  const call = async (c: Context<Env>, operation: OperationName, input: () => Promise<unknown>) => {
    const admit = () => rate.take(c.var.access.id);
    const signal = untilGone(c.env.outgoing, closing);
    const output = await operate(options, { operation, user: 'person', caller, input, admit, signal });
    return c.json(output as object, 200, NOT_STORED);
  };
  app.post('/v1/op/:name', (c) => {
    const operation = c.req.param('name');
    if (!isOperation(operation)) throw new ReefError('not_found', `There is no operation ${operation.slice(0, 100)}`);
    return call(c, operation, () => bodyOf(c));
  });
  for (const route of restRoutes()) {
    app.on(route.method, route.path, (c) => {
      const sent = { inPath: (name: string) => c.req.param(name), query: new URL(c.req.url).searchParams };
      return call(c, route.operation, () => inputAt(route, { ...sent, body: () => bodyOf(c) }));
    });
  }
  app.get('/v1/openapi.json', (c) => {
    rate.take(c.var.access.id);
    return c.json(openApi(), 200, NOT_STORED);
  });
  app.get('/v1/events', async (c) => {
    const { access } = c.var;
    if (c.env.incoming.method !== 'GET') return c.notFound(); // a HEAD would never end
    const { since } = parsed(eventsSchema, c.req.query());
    rate.take(access.id);
    const response = c.env.outgoing as ServerResponse;
    const signal = AbortSignal.any([untilGone(response, closing), access.revoked, untilOver(access)]);
    const reader = { response, caller, since: c.req.header('last-event-id') ?? since, signal };
    const limits = options.limits?.stream ?? STREAM_LIMITS;
    await streamEvents({ ...options, limits }, reader).catch((error: unknown) => {
      if (!response.headersSent) throw error;
      log.error('an event stream broke off', { error });
      response.destroy();
    });
    return RESPONSE_ALREADY_SENT;
  });
  app.get('/v1/info', (c) => {
    rate.take(c.var.access.id);
    return c.json(options.info(), 200, NOT_STORED);
  });
  return app;
}

/** A token that is good for hours only ends what it began. */
function untilOver({ expiresAt }: Access): AbortSignal {
  return expiresAt === undefined
    ? new AbortController().signal
    : AbortSignal.timeout(Math.max(0, Date.parse(expiresAt) - systemClock.now().getTime()));
}

const NOT_STORED = { 'cache-control': 'no-store' };

function bodyOf(c: Context<Env>): Promise<unknown> {
  const { incoming } = c.env;
  return readJson(incoming.headers['content-type'], incoming as IncomingMessage);
}

function parsed<S extends z.ZodType>(schema: S, value: unknown): z.infer<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw new ReefError('bad_request', [issue?.path.join('.'), issue?.message].filter(Boolean).join(': '));
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
