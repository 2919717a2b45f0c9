import type { Readable, Writable } from 'node:stream';
import { LineSplitter } from '../../base/line-splitter.ts';
import { parseJson } from '../../base/safe-json.ts';

const MAX_LINE_BYTES = 8 * 1024 * 1024;
const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;
const METHOD_NOT_FOUND = -32_601;
const INTERNAL_ERROR = -32_603;

export interface RpcHandlers {
  /** Undefined when there is no such method. */
  request(method: string, params: unknown, signal: AbortSignal): Promise<unknown> | undefined;
  /** A message that wants no answer. One that is not known is ignored. */
  notified(method: string, params: unknown): void;
}

/** Serves JSON-RPC 2.0 with one message per line. A line that is no message is answered with an error of the protocol. */
export class RpcLines {
  readonly #output: Writable;
  readonly #handlers: RpcHandlers;
  readonly #calls = new Map<string | number, AbortController>();

  constructor(input: Readable, output: Writable, handlers: RpcHandlers) {
    this.#output = output;
    this.#handlers = handlers;
    output.on('error', () => {}); // when nobody listens, the input ends as well
    const lines = new LineSplitter({
      longest: MAX_LINE_BYTES,
      onLine: (line) => this.#read(line),
      onTooLong: () => this.#refuse(null, INVALID_REQUEST, `A message is over ${MAX_LINE_BYTES} bytes`),
    });
    input.on('data', (chunk: Buffer) => lines.push(chunk));
  }

  #read(line: string): void {
    const text = line.trim();
    if (text === '') return;
    const parsed = parseJson(text);
    if (parsed.ok) this.#receive(parsed.value);
    else this.#refuse(null, PARSE_ERROR, `Not JSON: ${parsed.why}`);
  }

  #receive(message: unknown): void {
    const { jsonrpc, id, method, params, result, error } = (message ?? {}) as Record<string, unknown>;
    if (jsonrpc === '2.0' && typeof method !== 'string' && (result !== undefined || error !== undefined)) return;
    const hasId = typeof id === 'string' || typeof id === 'number';
    if (jsonrpc !== '2.0' || typeof method !== 'string') {
      this.#refuse(hasId ? id : null, INVALID_REQUEST, 'Not a JSON-RPC 2.0 message');
    } else if (hasId) void this.#answer(id, method, params);
    else if (method === 'notifications/cancelled') this.#cancel(params);
    else this.#handlers.notified(method, params);
  }

  #cancel(params: unknown): void {
    const id = (params as { requestId?: unknown } | null | undefined)?.requestId;
    if (typeof id === 'string' || typeof id === 'number') this.#calls.get(id)?.abort();
  }

  async #answer(id: string | number, method: string, params: unknown): Promise<void> {
    const call = new AbortController();
    this.#calls.set(id, call);
    try {
      const answer = this.#handlers.request(method, params, call.signal);
      if (answer === undefined) return this.#refuse(id, METHOD_NOT_FOUND, `There is no method ${method.slice(0, 100)}`);
      this.#send({ id, result: await answer });
    } catch (error) {
      // A cancelled call gets no answer.
      if (!call.signal.aborted)
        this.#refuse(id, INTERNAL_ERROR, error instanceof Error ? error.message : String(error));
    } finally {
      this.#calls.delete(id);
    }
  }

  #refuse(id: string | number | null, code: number, message: string): void {
    this.#send({ id, error: { code, message } });
  }

  #send(message: object): void {
    this.#output.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }
}
