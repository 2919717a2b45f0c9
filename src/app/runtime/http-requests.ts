import { once } from 'node:events';
import http, { type ClientRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import https from 'node:https';
import { isIPv6, type LookupFunction, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import tls from 'node:tls';
import type { Way } from '../../runtime/models/registry.ts';

/** `fetch` through a proxy, or with a time limit for the connection: Node's own takes neither per request. */
export function fetchByWay(way: Way): typeof globalThis.fetch {
  return async (input, init) => {
    const asked = new Request(input, init);
    const body = Buffer.from(await asked.arrayBuffer());
    const request = await begin(asked, way);
    const answered = once(request, 'response') as Promise<[IncomingMessage]>;
    request.end(body);
    const [message] = await answered;
    return toResponse(message);
  };
}

async function begin(asked: Request, way: Way): Promise<ClientRequest> {
  const { method, signal } = asked;
  const url = new URL(asked.url);
  // Answers are not decompressed here.
  const headers = { ...Object.fromEntries(asked.headers), host: url.host, 'accept-encoding': 'identity' };
  const options: RequestOptions = { method, headers, signal, agent: false };
  if (!way.proxy) return patient(open(url, options), way);
  if (url.protocol === 'http:') {
    const toProxy = { ...options, path: url.href, headers: { ...headers, ...pass(way.proxy) } };
    return patient(open(way.proxy, toProxy), way);
  }
  const socket = await tunnel(url, way.proxy, { signal, way });
  const createConnection = () => tls.connect({ socket, servername: url.hostname });
  // With `agent`, even `false`, Node would connect by itself, past the proxy.
  return https.request(url, { method, headers, signal, createConnection });
}

/** Credentials in a proxy's address are for the proxy alone: Node would send them to the provider. */
function open(url: URL, options: RequestOptions): ClientRequest {
  return (url.protocol === 'https:' ? https : http).request(url, { ...options, auth: null });
}

/** A connection through the proxy that only the two ends can read. */
async function tunnel(url: URL, proxy: URL, { signal, way }: { signal: AbortSignal; way: Way }): Promise<Socket> {
  const path = `${url.hostname}:${url.port || 443}`;
  const headers = { host: path, ...pass(proxy) };
  const request = patient(open(proxy, { method: 'CONNECT', path, headers, signal, agent: false }), way);
  request.end();
  const [answer, socket] = (await once(request, 'connect')) as [IncomingMessage, Socket];
  if (answer.statusCode === 200) return socket;
  socket.destroy();
  throw new Error(`the proxy ${proxy.host} answered ${answer.statusCode} ${answer.statusMessage}`);
}

function pass({ username, password }: URL): Record<string, string> {
  if (username === '') return {};
  const words = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { 'proxy-authorization': `Basic ${Buffer.from(words).toString('base64')}` };
}

/** Limits the time of the connection, not that of the answer. */
function patient(request: ClientRequest, { connectTimeoutMs }: Way): ClientRequest {
  if (connectTimeoutMs === undefined) return request;
  const late = () => request.destroy(new Error(`there was no connection within ${connectTimeoutMs / 1000} s`));
  const timer = setTimeout(late, connectTimeoutMs);
  const stop = () => clearTimeout(timer);
  request.once('close', stop).once('socket', (socket) => socket.once('connect', stop));
  return request;
}

/** One GET to addresses that were judged before. `fetch` would resolve the name again, perhaps to another address. */
export async function pinnedGet(url: URL, addresses: readonly string[], signal: AbortSignal): Promise<Response> {
  const { get } = url.protocol === 'https:' ? https : http;
  const request = get(url, { agent: false, lookup: answering(addresses), signal });
  const [message] = (await once(request, 'response')) as [IncomingMessage];
  return toResponse(message);
}

function answering(addresses: readonly string[]): LookupFunction {
  const found = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
  return (host, options, callback) => {
    const [first] = found;
    if (first === undefined) callback(new Error(`${host} has no address`), '');
    else if (options.all) callback(null, found);
    else callback(null, first.address, first.family);
  };
}

const WITHOUT_BODY = [204, 205, 304];

/** An answer of `node:http` in the form of `fetch`. */
export function toResponse(message: IncomingMessage): Response {
  const { statusCode = 0 } = message;
  const headers = Object.entries(message.headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  );
  const body = WITHOUT_BODY.includes(statusCode) ? null : (Readable.toWeb(message) as ReadableStream<Uint8Array>);
  return new Response(body, { status: statusCode, headers });
}
