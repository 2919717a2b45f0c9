import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { NoSuchTool } from './actions.ts';
import { sendFailure, sendJson, sendReply } from './answer.ts';
import { anthropic } from './anthropic.ts';
import { chat } from './chat.ts';
import { gemini } from './gemini.ts';
import { sideReply, turnReply } from './reply.ts';
import { responses } from './responses.ts';
import { NoTurn, Runs } from './runs.ts';
import { type Json, parseScripts, type Scripts } from './script.ts';
import { asObject, type WireFormat } from './wire.ts';

const MAX_BODY = 64 * 1024 * 1024;
const MAX_RECORDED = 500;

export interface RecordedRequest {
  method: string;
  /** Without the prefix that names script and run. */
  path: string;
  script: string;
  run: string;
  body: Json;
}

export interface ModelServer {
  url: string;
  /** The base address for one run: its turns start at the first, whatever other runs do. */
  runUrl(script: string, run?: string): string;
  /** The latest requests, oldest first. */
  requests: readonly RecordedRequest[];
  close(): Promise<void>;
}

interface Route {
  pattern: RegExp;
  format: WireFormat;
  isCount?: boolean;
}

const routes: readonly Route[] = [
  { pattern: /^\/v1\/messages$/, format: anthropic },
  { pattern: /^\/v1\/messages\/count_tokens$/, format: anthropic, isCount: true },
  { pattern: /^\/v1\/responses$/, format: responses },
  { pattern: /^\/v1\/responses\/input_tokens$/, format: responses, isCount: true },
  { pattern: /^\/v1\/chat\/completions$/, format: chat },
  { pattern: /^\/v1(?:alpha|beta)?\/models\/[^/]+:(?:generateContent|streamGenerateContent)$/, format: gemini },
  { pattern: /^\/v1(?:alpha|beta)?\/models\/[^/]+:countTokens$/, format: gemini, isCount: true },
];

const modelList = {
  object: 'list',
  data: [{ id: 'scripted', object: 'model', type: 'model', display_name: 'Scripted', owned_by: 'reef', created: 0 }],
  has_more: false,
};

async function readBody(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY) throw new RangeError(`a body has at most ${MAX_BODY} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

async function recorded(incoming: IncomingMessage): Promise<{ request: RecordedRequest; size: number }> {
  const text = await readBody(incoming);
  const url = incoming.url ?? '/';
  const [, script = '', run = '', path = url] = /^\/s\/([^/~]+)~([^/]*)(\/.*)$/.exec(url) ?? [];
  const body = text === '' ? {} : asObject(JSON.parse(text));
  return { request: { method: incoming.method ?? '', path, script, run, body }, size: text.length };
}

async function answer(out: ServerResponse, runs: Runs, { request, size }: { request: RecordedRequest; size: number }) {
  const [path = ''] = request.path.split('?');
  if (request.method === 'GET' && path === '/v1/models') return sendJson(out, 200, modelList);
  const route = routes.find(({ pattern }) => request.method === 'POST' && pattern.test(path));
  if (!route) return sendJson(out, 404, { error: { message: `not served here: ${request.method} ${path}` } });
  const { format } = route;
  if (route.isCount) return sendJson(out, 200, format.tokenCount(Math.ceil(size / 4)));
  try {
    const asked = format.read(request.body, path);
    if (asked.tools.length === 0) {
      return await sendReply(out, { format, reply: sideReply(asked), turn: {}, isStream: asked.stream });
    }
    const turn = runs.take(request, asked.newest);
    if (turn.status !== undefined) {
      const retryAfter = turn.retryAfter === undefined ? {} : { retryAfter: turn.retryAfter };
      return sendFailure(out, format, { status: turn.status, message: turn.text ?? 'scripted failure', ...retryAfter });
    }
    await sendReply(out, { format, reply: turnReply(turn, asked, request.body), turn, isStream: asked.stream });
  } catch (error) {
    if (!(error instanceof NoTurn || error instanceof NoSuchTool)) throw error;
    sendFailure(out, format, { status: 400, message: `model server: ${error.message}` });
  }
}

/** Starts the scripted model on loopback; real agents talk to it as to their provider. */
export async function startModelServer(options: { scripts: Scripts; port?: number }): Promise<ModelServer> {
  const runs = new Runs(parseScripts(options.scripts));
  const requests: RecordedRequest[] = [];
  let opened = 0;

  async function handle(incoming: IncomingMessage, out: ServerResponse): Promise<void> {
    try {
      const received = await recorded(incoming);
      requests.push(received.request);
      if (requests.length > MAX_RECORDED) requests.shift();
      await answer(out, runs, received);
    } catch (error) {
      if (out.headersSent || out.destroyed) out.destroy();
      else sendJson(out, 400, { error: { message: `model server: ${String(error)}` } });
    }
  }

  const server = createServer((incoming, out) => void handle(incoming, out));
  // An agent may think longer between two requests than Node keeps an idle connection, and would then lose its next one.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(options.port ?? 0, '127.0.0.1', resolve);
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    requests,
    runUrl(script, run) {
      opened += 1;
      return `${url}/s/${script}~${run ?? opened}`;
    },
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
