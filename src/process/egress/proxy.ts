import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { connect, createServer, isIP, type LookupFunction, type Server, type Socket } from 'node:net';
import { HostQuestions, type Verdict } from './ask.ts';
import {
  type EgressRules,
  isInternal,
  isListed,
  isLoopback,
  parseAuthority,
  type Target,
  targetText,
  upstreamFor,
} from './rules.ts';

const LONGEST_HEAD = 64 * 1024;
const HEAD_END = '\r\n\r\n';

const WHY: Record<Exclude<Verdict, 'allow'> | 'unasked', string> = {
  unasked: 'is not among the hosts that are allowed',
  deny: 'was not allowed',
  silence: 'is not among the hosts that are allowed, and nobody answered the question about it in time',
};
const HOW = 'To allow it, add it to `hosts` of `sandbox` in your configuration';

interface Head {
  text: string;
  /** What came after it already. */
  rest: Buffer;
}

interface Request {
  target: Target;
  /** `CONNECT`: what follows is for the other end alone. */
  isTunnel: boolean;
  method: string;
  address: string;
  path: string;
  headers: string[];
}

/** What a client gets in place of a connection. */
class Refusal extends Error {
  readonly status: string;
  constructor(
    status: '400 Bad Request' | '403 Forbidden' | '502 Bad Gateway',
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.status = status;
  }
}

/** An HTTP proxy for one sandbox. It resolves names itself and connects to the very addresses that it judged. */
export function serveEgress(rules: EgressRules, say: (line: string) => void): Server {
  const told = new Set<string>();
  const questions = rules.ask === undefined ? undefined : new HostQuestions(rules.ask);
  return createServer({ allowHalfOpen: true }, (client) => {
    client.on('error', () => client.destroy());
    serve(rules, client, questions).catch((error: Error) => {
      const status = error instanceof Refusal ? error.status : '502 Bad Gateway';
      const line = `reef: the network of the sandbox: ${error.message}`;
      if (status.startsWith('403') && !told.has(line)) say(line);
      told.add(line);
      const about = `Content-Type: text/plain\r\nContent-Length: ${Buffer.byteLength(line) + 1}\r\nConnection: close`;
      client.end(`HTTP/1.1 ${status}\r\n${about}${HEAD_END}${line}\n`);
    });
  });
}

async function serve(rules: EgressRules, client: Socket, questions: HostQuestions | undefined): Promise<void> {
  const head = await readHead(client);
  if (!head) {
    client.destroy();
    return;
  }
  const request = readRequest(head.text);
  const lookupJudged = await judge(rules, request.target, questions);
  const upstream = isLoopback(request.target.host) ? undefined : upstreamFor(rules, request.target);
  const remote = upstream ? await connected(upstream) : await connected(request.target, lookupJudged);
  for (const [one, other] of [
    [client, remote],
    [remote, client],
  ] as const)
    one.on('error', () => other.destroy()).once('close', () => other.end());
  if (request.isTunnel) await openTunnel(request, { client, remote, upstream });
  else remote.write(plainHead(request, upstream));
  remote.write(head.rest);
  client.pipe(remote);
  remote.pipe(client);
}

/** Undefined when the other side went away, or never ends its head. */
function readHead(socket: Socket): Promise<Head | undefined> {
  return new Promise((resolve) => {
    let bytes = Buffer.alloc(0);
    const done = (head: Head | undefined) => {
      socket.off('data', take).off('close', gone).off('end', gone).pause();
      resolve(head);
    };
    const gone = () => done(undefined);
    const take = (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      const end = bytes.indexOf(HEAD_END);
      if (end >= 0) done({ text: bytes.toString('latin1', 0, end), rest: bytes.subarray(end + HEAD_END.length) });
      else if (bytes.length > LONGEST_HEAD) gone();
    };
    socket.on('data', take).once('close', gone).once('end', gone).resume();
  });
}

function readRequest(text: string): Request {
  const [first = '', ...headers] = text.split('\r\n');
  const [, method = '', address = ''] = /^([A-Z]+) (\S+) HTTP\/1\.[01]$/.exec(first) ?? [];
  const isTunnel = method === 'CONNECT';
  const url = isTunnel ? null : URL.parse(address);
  const authority = parseAuthority(url?.protocol === 'http:' ? url.host : isTunnel ? address : '');
  const port = authority?.port ?? (isTunnel ? undefined : 80);
  if (!authority || port === undefined) throw new Refusal('400 Bad Request', 'this proxy is for HTTP and HTTPS only');
  const path = url ? `${url.pathname}${url.search}` : '';
  return { target: { host: authority.host, port }, isTunnel, method, address, path, headers };
}

/** One request for each connection: the next one of the client may be for another host. */
function plainHead({ method, address, path, headers }: Request, upstream: URL | undefined): string {
  const kept = headers.filter((line) => !/^(?:proxy-[\w-]+|connection|keep-alive):/i.test(line));
  const first = `${method} ${upstream ? address : path} HTTP/1.1`;
  return [first, ...kept, 'Connection: close', ...credentials(upstream)].join('\r\n') + HEAD_END;
}

async function openTunnel(
  { address }: Request,
  { client, remote, upstream }: { client: Socket; remote: Socket; upstream: URL | undefined },
): Promise<void> {
  if (!upstream) {
    client.write(`HTTP/1.1 200 Connection established${HEAD_END}`);
    return;
  }
  remote.write([`CONNECT ${address} HTTP/1.1`, `Host: ${address}`, ...credentials(upstream)].join('\r\n') + HEAD_END);
  const answer = await readHead(remote);
  if (!answer) throw new Refusal('502 Bad Gateway', 'your proxy closed the connection');
  client.write(`${answer.text}${HEAD_END}`, 'latin1');
  client.write(answer.rest);
}

function credentials(upstream: URL | undefined): string[] {
  if (!upstream || upstream.username === '') return [];
  const pair = `${decodeURIComponent(upstream.username)}:${decodeURIComponent(upstream.password)}`;
  return [`Proxy-Authorization: Basic ${Buffer.from(pair).toString('base64')}`];
}

/** Refuses, or gives the addresses to connect to. Behind an upstream only that one knows the addresses. */
async function judge(
  rules: EgressRules,
  target: Target,
  questions: HostQuestions | undefined,
): Promise<LookupFunction | undefined> {
  const { host } = target;
  const isNamed = isListed(rules.named, target);
  // Nothing is looked up before: a name can carry what nobody allowed to leave.
  if (!isNamed && !isListed(rules.known, target)) await askOrRefuse(target, questions);
  if (isLoopback(host) || isIP(host) !== 0 || upstreamFor(rules, target)) return undefined;
  const found = await lookup(host, { all: true }).catch((error: Error) => {
    throw new Refusal('502 Bad Gateway', `cannot find ${host}: ${error.message}`, { cause: error });
  });
  // Whoever owns a name decides where it leads: not to the user's own machines, unless the user named it.
  const addresses = isNamed ? found : found.filter(({ address }) => !isInternal(address));
  if (addresses.length === 0) {
    const why = `${host} leads to ${found[0]?.address}, an address of your own network`;
    throw new Refusal('403 Forbidden', `${why}. ${HOW}`);
  }
  const [first] = addresses;
  return (_name, options, callback) =>
    options.all ? callback(null, addresses) : callback(null, first?.address ?? '', first?.family);
}

/** About an address of the user's own network nobody is asked. */
async function askOrRefuse(target: Target, questions: HostQuestions | undefined): Promise<void> {
  const { host } = target;
  const isOwnNetwork = isLoopback(host) || (isIP(host) !== 0 && isInternal(host));
  const verdict = isOwnNetwork ? undefined : await questions?.may(target);
  if (verdict === 'allow') return;
  throw new Refusal('403 Forbidden', `${targetText(target)} ${WHY[verdict ?? 'unasked']}. ${HOW}`);
}

async function connected(to: Target | URL, lookupJudged?: LookupFunction): Promise<Socket> {
  const host = to instanceof URL ? to.hostname.replace(/^\[|\]$/g, '') : to.host;
  const isTls = to instanceof URL && to.protocol === 'https:';
  const usual = isTls ? 443 : 80;
  const options = {
    host,
    port: Number(to.port) || usual,
    allowHalfOpen: true,
    ...(lookupJudged && { lookup: lookupJudged }),
  };
  const socket = isTls ? (await import('node:tls')).connect({ ...options, servername: host }) : connect(options);
  try {
    await once(socket, isTls ? 'secureConnect' : 'connect');
  } catch (error) {
    const why = (error as Error).message;
    throw new Refusal('502 Bad Gateway', `cannot connect to ${host}:${options.port}: ${why}`, { cause: error });
  }
  return socket;
}
