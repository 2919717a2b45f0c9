import type { IncomingMessage, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import type { HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { type Context, Hono } from 'hono';
import { z } from 'zod';
import { systemClock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import { errorTable } from '../../../protocol/error-table.ts';
import { ReefError, toReefError } from '../../../protocol/errors.ts';
import type { OperationName } from '../../../protocol/operations.ts';
import { isOperation } from '../../parse-input.ts';
import { readJson } from '../json-body.ts';
import { type OperationDeps, operate } from '../operate.ts';
import { untilGone } from '../response.ts';
import { type Asked, completionSchema, questionSchema, sessionIdSchema, sessionSchema } from './asked.ts';
import { type Completions, resultOf, streamAnswer } from './completions.ts';
import type { Access, Admission } from './door-tokens.ts';
import { type News, STREAM_LIMITS, type StreamLimits, streamEvents } from './event-stream.ts';
import { bearer, type RateLimit } from './guards.ts';
import { answerMcp, type McpOverHttp } from './mcp-route.ts';
import { METRICS_TYPE, type Metrics } from './metrics.ts';
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

export interface RouteDeps extends OperationDeps {
  tokens: Admission;
  /** Whoever shows a token is this person, unless the token says who it is. */
  by: string;
  /** Throws when whom a token let in may not do this: the name of an operation, or of what else there is to do. */
  refuse?(access: Access, what: string): void;
  /** More routes, behind the same guards. */
  addRoutes?(app: Hono<Env>, guards: Pick<Guards, 'closing' | 'rate'>): void;
  info(): PageInfo;
  /** Of a fleet: where its stream goes on, since each home counts for itself. */
  cursor?(): Promise<string>;
  news: News;
  /** Asked for when the first MCP client comes: a door without one does not pay for the protocol. */
  mcp(): Promise<McpOverHttp>;
  completions: Completions;
  log: Pick<Logger, 'error'>;
  pageFolder?: string;
  limits?: { stream?: StreamLimits };
}

export interface Env {
  Bindings: HttpBindings;
  Variables: { access: Access };
}

interface Guards {
  closing: AbortSignal;
  rate: RateLimit;
  /** Log-ins with a code that lets nobody in. */
  guesses: RateLimit;
  metrics: Metrics;
}

/** Everything behind the guards of Host and Origin. What has no token here needs none. */
export function routesOf(deps: RouteDeps, guards: Guards): Hono<Env> {
  const { tokens, log } = deps;
  const app = new Hono<Env>();
  app.onError((error, c) => {
    const known = toReefError(error);
    if (known.code === 'internal') log.error('a call through the door failed', { path: c.req.path, error });
    return c.json(known.toBody(), errorTable[known.code].status as 400, NOT_STORED);
  });
  app.notFound((c) => {
    throw new ReefError('not_found', `There is no ${c.req.method} ${c.req.path.slice(0, 200)}`);
  });
  addPage(app, deps);
  addLogin(app, deps, guards);
  app.use('*', async (c, next) => {
    const access = tokens.check(bearer(c.env.incoming.headers) ?? '');
    if (!access)
      throw new ReefError('unauthorized', 'This call carries no token of this home, or one that has expired');
    c.set('access', access);
    await next();
  });
  app.use('*', async (c, next) => {
    const what = elsewhere(c.req.path);
    if (what !== undefined) deps.refuse?.(c.var.access, what);
    await next();
  });
  deps.addRoutes?.(app, guards);
  addOperations(app, deps, guards);
  addReading(app, deps, guards);
  addMcp(app, deps, guards);
  addCompletions(app, deps, guards);
  return app;
}

/** What is done at an address that belongs to no operation. */
function elsewhere(path: string): string | undefined {
  if (/^\/(v1\/(info|openapi\.json|events)$|metrics$)/.test(path)) return 'read:door';
  if (/^\/(mcp|v1\/(completions|sessions|agents|roles|rags|models))(\/|$)/.test(path)) return 'models';
  return undefined;
}

function addPage(app: Hono<Env>, { pageFolder = PAGE_FOLDER }: RouteDeps): void {
  app.get('*', async (c, next) => {
    const file = await pageFile(c.req.path, pageFolder);
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
}

const loginSchema = z.strictObject({ code: z.string().max(200) });
const proofSchema = z.strictObject({ tokenId: z.string().max(64), nonce: z.string().min(16).max(256) });

/** Who logs in has no token yet: a flood of guesses slows down the others who log in, and nobody else. */
function addLogin(app: Hono<Env>, { tokens }: RouteDeps, { rate, guesses }: Guards): void {
  const unknown = async <S extends z.ZodType>(c: Context<Env>, schema: S): Promise<z.infer<S>> => {
    const input = parsed(schema, await bodyOf(c));
    rate.take('login');
    return input;
  };
  app.post('/v1/login', async (c) => {
    const { code } = await unknown(c, loginSchema);
    guesses.take('login');
    const page = await tokens.login(code);
    guesses.giveBack('login');
    return c.json(page, 200, NOT_STORED);
  });
  app.post('/v1/proof', async (c) => {
    const { tokenId, nonce } = await unknown(c, proofSchema);
    return c.json({ proof: tokens.proof(tokenId, nonce) }, 200, NOT_STORED);
  });
}

function addOperations(app: Hono<Env>, deps: RouteDeps, { closing, rate }: Guards): void {
  const call = async (c: Context<Env>, operation: OperationName, input: () => Promise<unknown>) => {
    const { access } = c.var;
    const caller = { by: access.by ?? deps.by, surface: 'web' } as const;
    const admit = () => {
      deps.refuse?.(access, operation);
      rate.take(access.id);
    };
    const signal = untilGone(c.env.outgoing, closing);
    const output = await operate(deps, { operation, user: 'person', caller, input, admit, signal });
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
}

const eventsSchema = z.strictObject({
  since: z.string().max(64).optional(),
  run: z.string().min(1).max(128).optional(),
  after: z.coerce.number().int().min(0).default(0),
});

function addReading(app: Hono<Env>, deps: RouteDeps, { closing, rate, metrics }: Guards): void {
  app.get('/v1/info', async (c) => {
    rate.take(c.var.access.id);
    const cursor = await deps.cursor?.();
    return c.json({ ...deps.info(), ...(cursor !== undefined && { cursor }) }, 200, NOT_STORED);
  });
  app.get('/v1/openapi.json', (c) => {
    rate.take(c.var.access.id);
    return c.json(openApi(), 200, NOT_STORED);
  });
  app.get('/metrics', async (c) => {
    rate.take(c.var.access.id);
    const text = await metrics.text(untilGone(c.env.outgoing, closing));
    return c.body(text, 200, { ...NOT_STORED, 'content-type': METRICS_TYPE });
  });
  app.get('/v1/events', async (c) => {
    const { access } = c.var;
    if (c.env.incoming.method !== 'GET') return c.notFound(); // a HEAD would never end
    const { since, run: id, after } = parsed(eventsSchema, c.req.query());
    rate.take(access.id);
    const caller = { by: access.by ?? deps.by, surface: 'web' } as const;
    const response = c.env.outgoing as ServerResponse;
    const run = id === undefined ? undefined : { id, after };
    const cursor = c.req.header('last-event-id') ?? since;
    const reader = { response, caller, since: cursor, run, signal: untilOut(c, closing) };
    const limits = deps.limits?.stream ?? STREAM_LIMITS;
    await streamEvents({ ...deps, limits }, reader).catch((error: unknown) => {
      if (!response.headersSent) throw error;
      deps.log.error('an event stream broke off', { error });
      response.destroy();
    });
    return RESPONSE_ALREADY_SENT;
  });
}

function addMcp(app: Hono<Env>, deps: RouteDeps, { closing, rate }: Guards): void {
  app.all('/mcp', async (c) => {
    const incoming = c.env.incoming as IncomingMessage;
    const admit = () => rate.take(c.var.access.id);
    const response = await answerMcp(deps.mcp, { request: c.req.raw, incoming, admit, signal: untilOut(c, closing) });
    response.headers.set('cache-control', 'no-store');
    return response;
  });
}

function addCompletions(app: Hono<Env>, deps: RouteDeps, { closing, rate }: Guards): void {
  const { completions, by } = deps;
  const reply = async (c: Context<Env>, asked: Asked): Promise<Response> => {
    rate.take(c.var.access.id);
    const signal = untilOut(c, closing);
    const said = completions.ask(asked, signal);
    if (asked.do !== 'answer' || !asked.stream) return c.json(await resultOf(said), 200, NOT_STORED);
    await streamAnswer(said, c.env.outgoing as ServerResponse, signal);
    return RESPONSE_ALREADY_SENT;
  };
  const acting = async (c: Context<Env>, operation: string, asked: Asked): Promise<Response> => {
    const record = (outcome: string) => deps.audit({ by, surface: 'web', operation, outcome });
    try {
      const response = await reply(c, asked);
      record('ok');
      return response;
    } catch (error) {
      record(toReefError(error).code);
      throw error;
    }
  };
  const idOf = (c: Context<Env>) => parsed(sessionIdSchema, c.req.param('id'));
  app.post('/v1/completions', async (c) => {
    const { input, stream, ...scope } = parsed(completionSchema, await bodyOf(c));
    return acting(c, 'completion', { do: 'answer', input, stream, scope });
  });
  app.post('/v1/sessions', async (c) => {
    const { name, ...scope } = parsed(sessionSchema, await bodyOf(c));
    return acting(c, 'session.begin', { do: 'begin', scope, name });
  });
  app.post('/v1/sessions/:id/completions', async (c) => {
    const asked = parsed(questionSchema, await bodyOf(c));
    return acting(c, 'completion', { do: 'answer', ...asked, scope: {}, sessionId: idOf(c) });
  });
  app.delete('/v1/sessions/:id', (c) => acting(c, 'session.forget', { do: 'forget', sessionId: idOf(c) }));
  app.get('/v1/sessions', (c) => reply(c, { do: 'list' }));
  app.get('/v1/sessions/:id', (c) => reply(c, { do: 'show', sessionId: idOf(c) }));
  for (const what of ['agents', 'roles', 'rags', 'models'] as const)
    app.get(`/v1/${what}`, (c) => reply(c, { do: 'name', what }));
}

/** Until the caller is gone, its token is over or taken back, or the door closes. */
export function untilOut({ env, var: { access } }: Context<Env>, closing: AbortSignal): AbortSignal {
  return AbortSignal.any([untilGone(env.outgoing as ServerResponse, closing), access.revoked, untilOver(access)]);
}

/** Whoever reads a stream for so long begins another one. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** A token that is good for hours only ends what it began. */
function untilOver({ expiresAt }: Access): AbortSignal {
  return expiresAt === undefined
    ? new AbortController().signal
    : AbortSignal.timeout(Math.min(LONGEST_TIMER_MS, Math.max(0, Date.parse(expiresAt) - systemClock.now().getTime())));
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
