import { randomUUID } from 'node:crypto';
import {
  createMcpHandler,
  isJSONRPCRequest,
  isLegacyRequest,
  type McpServer,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import type { Client } from '../client/client.ts';
import type { McpOverHttp } from '../http/door/mcp-route.ts';
import { type OperationDeps, operate } from '../http/operate.ts';
import { createMcpServer, toolList } from './server.ts';

/** Of more the one that was used longest ago ends, and its client begins anew. */
const MOST_SESSIONS = 64;
/** Streams on which a client of the newer revision waits for changes. */
const MOST_SUBSCRIPTIONS = 16;
const SESSION_HEADER = 'mcp-session-id';
const SESSION_NOT_FOUND = -32_001;

/** Both eras from one definition: 2026-07-28 request by request, the revisions before it in sessions. */
export function mcpOverHttp(makeServer: () => McpServer): McpOverHttp {
  const newer = createMcpHandler(makeServer, { legacy: 'reject', maxSubscriptions: MOST_SUBSCRIPTIONS });
  const sessions = new Sessions(makeServer);
  return {
    answer: async (request, body) =>
      (await isLegacyRequest(request, body))
        ? sessions.answer(request, body)
        : newer.fetch(request, { parsedBody: body }),
    close: async () => {
      await Promise.all([newer.close(), sessions.close()]);
    },
  };
}

/** The tools of `reef mcp`, without its process: calls go to the core, as those of a client and not of a person. */
export function reefServers(deps: OperationDeps, folder: string): () => McpServer {
  const client: Pick<Client, 'call'> = {
    call: async (operation, input, { client: name = 'unknown', isAgreed = false, signal } = {}) =>
      (await operate(deps, {
        operation,
        user: isAgreed ? 'person' : 'client',
        caller: { by: `mcp:${encodeURIComponent(name)}`, surface: 'mcp' },
        input: async () => input,
        signal: signal ?? new AbortController().signal,
      })) as never,
  };
  const served = { user: 'client', folder } as const;
  const tools = toolList(served.user);
  return () => createMcpServer(client, served, tools);
}

/** Clients of the older revisions say who they are once, and are asked on the stream of the call they wait for. */
class Sessions {
  readonly #makeServer: () => McpServer;
  /** The one that was used longest ago is the first. */
  readonly #open = new Map<string, WebStandardStreamableHTTPServerTransport>();

  constructor(makeServer: () => McpServer) {
    this.#makeServer = makeServer;
  }

  async answer(request: Request, body: unknown): Promise<Response> {
    const id = request.headers.get(SESSION_HEADER);
    const transport = id === null ? await this.#begin() : this.#use(id);
    if (!transport) return notFound();
    request.signal.addEventListener('abort', () => cancel(transport, body), { once: true });
    const response = await transport.handleRequest(request, { parsedBody: body });
    if (transport.sessionId === undefined) await transport.close(); // it asked for something else first
    return response;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open.values()].map((transport) => transport.close()));
  }

  async #begin(): Promise<WebStandardStreamableHTTPServerTransport> {
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => this.#add(id, transport),
      onsessionclosed: (id) => void this.#open.delete(id),
    });
    await this.#makeServer().connect(transport);
    return transport;
  }

  #use(id: string): WebStandardStreamableHTTPServerTransport | undefined {
    const transport = this.#open.get(id);
    if (transport) this.#add(id, transport);
    return transport;
  }

  #add(id: string, transport: WebStandardStreamableHTTPServerTransport): void {
    this.#open.delete(id);
    this.#open.set(id, transport);
    const [oldest] = this.#open;
    if (this.#open.size <= MOST_SESSIONS || !oldest) return;
    this.#open.delete(oldest[0]);
    void oldest[1].close();
  }
}

/** A stream that broke off is not resumed, so nobody would ever read the answer. */
function cancel(transport: WebStandardStreamableHTTPServerTransport, body: unknown): void {
  for (const message of Array.isArray(body) ? body : [body]) {
    if (!isJSONRPCRequest(message)) continue;
    const params = { requestId: message.id, reason: 'The client went away' };
    transport.onmessage?.({ jsonrpc: '2.0', method: 'notifications/cancelled', params });
  }
}

function notFound(): Response {
  const error = { code: SESSION_NOT_FOUND, message: 'There is no such session: begin another one' };
  return Response.json({ jsonrpc: '2.0', id: null, error }, { status: 404 });
}
