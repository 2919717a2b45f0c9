import type { Writable } from 'node:stream';
import { readingOperations } from '../../protocol/daemon.ts';
import type { ToolLine } from '../client/tool-line.ts';

/** A client that does not read its answers is served the ordinary way, where it waits. */
const MOST_UNREAD_BYTES = 1_048_576;
/** Of the newer revisions, each request of which says who asks. */
const ENVELOPE = 'io.modelcontextprotocol/';

interface Message {
  jsonrpc?: unknown;
  id?: unknown;
  method?: unknown;
  params?: { name?: unknown; arguments?: unknown; _meta?: object; requestId?: unknown };
}

interface ShortWayDeps {
  /** Opens a line to the daemon; undefined where there is none now. */
  open(client: string): Promise<ToolLine | undefined>;
  /** The program at the other end, once it has said who it is, as those of the older revisions do at the beginning. */
  client(): string | undefined;
  prepare(args: unknown): unknown;
  stdout: Writable;
  /** The ordinary way. */
  pass(text: string): void;
}

/**
 * Calls of tools that only read go to the daemon as they are, and its answers to the client as they come: here they would be parsed,
 * checked, built and written once more. Whatever is not simply answered goes the ordinary way, and may, because nothing has changed.
 */
export class ShortWay {
  readonly #deps: ShortWayDeps;
  readonly #open = new Map<unknown, AbortController>();
  #line: Promise<ToolLine | undefined> | undefined;

  constructor(deps: ShortWayDeps) {
    this.#deps = deps;
  }

  /** False: it is nothing for this way. */
  take(value: unknown, text: string): boolean {
    const { jsonrpc, id, method, params } = (value ?? {}) as Message;
    if (method === 'notifications/cancelled') return this.#cancel(params?.requestId);
    const client = this.#deps.client();
    const isCall = jsonrpc === '2.0' && method === 'tools/call' && (typeof id === 'string' || typeof id === 'number');
    if (!isCall || client === undefined || this.#open.has(id)) return false;
    const { name, arguments: args = {}, _meta = {}, ...others } = params ?? {};
    const isPlain = Object.keys(others).length === 0 && !Object.keys(_meta).some((key) => key.startsWith(ENVELOPE));
    if (!isPlain || typeof name !== 'string' || !readingOperations.has(name)) return false;
    if (this.#deps.stdout.writableLength > MOST_UNREAD_BYTES) return false;
    void this.#answer({ id, name, args }, client, text);
    return true;
  }

  async close(): Promise<void> {
    for (const call of this.#open.values()) call.abort();
    (await this.#line)?.close();
  }

  async #answer(
    { id, ...call }: { id: unknown; name: string; args: unknown },
    client: string,
    text: string,
  ): Promise<void> {
    const controller = new AbortController();
    this.#open.set(id, controller);
    const line = await this.#ready(client);
    const args = this.#deps.prepare(call.args);
    const result = await line?.ask({ name: call.name, args }, controller.signal);
    this.#open.delete(id);
    if (controller.signal.aborted) return;
    if (!result) return this.#deps.pass(text);
    const { stdout } = this.#deps;
    stdout.cork();
    stdout.write(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`);
    stdout.write(result);
    stdout.write('}\n');
    stdout.uncork();
  }

  async #ready(client: string): Promise<ToolLine | undefined> {
    const known = await this.#line;
    if (known?.isOpen) return known;
    this.#line = this.#deps.open(client).catch(() => undefined);
    return this.#line;
  }

  #cancel(requestId: unknown): boolean {
    const call = this.#open.get(requestId);
    this.#open.delete(requestId);
    call?.abort();
    return call !== undefined;
  }
}
