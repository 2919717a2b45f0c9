import type { IncomingMessage } from 'node:http';
import { ReefError } from '../../../protocol/errors.ts';
import { readJson } from '../json-body.ts';

/** Answers requests of MCP clients that the guards have let in. */
export interface McpOverHttp {
  /** `body` is absent where the method has none. Aborting the signal of the request cancels what it began. */
  answer(request: Request, body?: unknown): Promise<Response>;
  close(): Promise<void>;
}

interface Asked {
  request: Request;
  incoming: IncomingMessage;
  /** The last guard. */
  admit(): void;
  /** Aborted when the client is gone, has lost its token, or the door closes. */
  signal: AbortSignal;
}

const PARSE_ERROR = -32_700;

/** One request at `/mcp`, with the limits of every other one; what is no JSON has the error of the protocol. */
export async function answerMcp(mcp: () => Promise<McpOverHttp>, asked: Asked): Promise<Response> {
  const { incoming, admit, signal } = asked;
  const { method, headers, url } = asked.request;
  // A client hears nothing but answers to its own calls, so there is no stream to GET.
  if (method !== 'POST' && method !== 'DELETE') return new Response(null, { status: 405, headers: { allow: ALLOWED } });
  let body: unknown;
  try {
    if (method === 'POST') body = await readJson(incoming.headers['content-type'], incoming);
  } catch (error) {
    if (!(error instanceof ReefError) || error.code !== 'bad_request') throw error;
    admit();
    const refusal = { jsonrpc: '2.0', id: null, error: { code: PARSE_ERROR, message: error.message } };
    return Response.json(refusal, { status: 400 });
  }
  admit();
  const { answer } = await mcp();
  return answer(new Request(url, { method, headers, signal }), body);
}

const ALLOWED = 'POST, DELETE';
