import type { Readable, Writable } from 'node:stream';
import { z } from 'zod';
import { LineSplitter } from '../../base/line-splitter.ts';
import { parseJson } from '../../base/safe-json.ts';
import { McpQueryError, McpServerError, serverDied } from './mcp-server-error.ts';

export interface Connection {
  worktreePath: string;
  activity: Activity;
  /** Called once, when the server has closed its output. */
  onSilence(): void;
}

type StdioOptions = Connection & { stdin: Writable; stdout: Readable };
type Settle = (outcome: { result: unknown } | { error: unknown }) => void;

const CALL_MS = 20_000;
const LONGEST_LINE = 16 * 1024 * 1024;
const METHOD_NOT_FOUND = -32_601;

const messageSchema = z.object({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.number(), z.string(), z.null()]).optional(),
  method: z.string().optional(),
  result: z.unknown().optional(),
  error: z.object({ code: z.number(), message: z.string(), data: z.unknown().optional() }).optional(),
});
type Message = z.infer<typeof messageSchema>;

/** JSON-RPC 2.0 with one message per line. A call ends with its timeout, its signal or the server at the latest. */
export class StdioClient implements JsonRpcClient {
  readonly #options: StdioOptions;
  readonly #pending = new Map<number, Settle>();
  #lastId = 0;
  #isClosed = false;

  constructor(options: StdioOptions) {
    this.#options = options;
    const lines = new LineSplitter({
      longest: LONGEST_LINE,
      onLine: (line) => this.#receive(line),
      onTooLong: () => {
        const message = `The analysis server sent a line of more than ${LONGEST_LINE} bytes.`;
        this.#rejectAll(new McpServerError('analysis_protocol', message, { worktreePath }));
      },
    });
    const { stdin, stdout, onSilence, worktreePath } = options;
    stdin.on('error', () => {}); // after EPIPE the output ends as well
    stdout.on('data', (chunk: Buffer) => lines.push(chunk));
    stdout.once('error', () => stdout.destroy());
    stdout.once('close', () => {
      this.#shut();
      onSilence();
    });
  }

  request<T>(method: string, params: unknown, { timeoutMs = CALL_MS, signal }: RequestOptions = {}): Promise<T> {
    const { activity, worktreePath } = this.#options;
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (this.#isClosed) return Promise.reject(serverDied(worktreePath));
    this.#lastId += 1;
    const id = this.#lastId;
    activity.begin();
    return new Promise<T>((resolve, reject) => {
      const settle: Settle = (outcome) => {
        if (!this.#pending.delete(id)) return;
        clearTimeout(timer);
        signal?.removeEventListener('abort', abort);
        activity.end();
        if ('error' in outcome) reject(outcome.error);
        else resolve(outcome.result as T);
      };
      const giveUp = (error: unknown) => {
        this.#send({ method: 'notifications/cancelled', params: { requestId: id } });
        settle({ error });
      };
      const abort = () => giveUp(signal?.reason);
      const late = `The analysis server did not answer ${method} within ${timeoutMs} ms.`;
      const timer = setTimeout(() => giveUp(new McpServerError('analysis_timeout', late, { worktreePath })), timeoutMs);
      signal?.addEventListener('abort', abort, { once: true });
      this.#pending.set(id, settle);
      this.#send({ id, method, params });
    });
  }

  notify(method: string, params: unknown): void {
    this.#send({ method, params });
  }

  async close(): Promise<void> {
    this.#shut();
    this.#options.stdin.end();
  }

  #shut(): void {
    this.#isClosed = true;
    this.#rejectAll(serverDied(this.#options.worktreePath));
  }

  #rejectAll(error: unknown): void {
    for (const settle of this.#pending.values()) settle({ error });
  }

  #send(message: Record<string, unknown>): void {
    if (this.#options.stdin.writable) this.#options.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  /** Ignores lines that are no messages: some servers log to the wrong stream. */
  #receive(line: string): void {
    const parsed = parseJson(line);
    const message = parsed.ok ? messageSchema.safeParse(parsed.value).data : undefined;
    if (message === undefined) return;
    if (message.method !== undefined) this.#answer(message);
    else if (typeof message.id === 'number') this.#pending.get(message.id)?.(this.#outcome(message));
  }

  #outcome({ error, result }: Message): Parameters<Settle>[0] {
    if (error === undefined) return { result };
    const { worktreePath } = this.#options;
    const details = { rpcCode: error.code, data: error.data };
    return { error: new McpQueryError('mcp_query', error.message, { worktreePath, details }) };
  }

  /** The only request a server may make is `ping`. Notifications need no answer. */
  #answer({ id, method }: Message): void {
    if (id === undefined || id === null) return;
    const unknown = { error: { code: METHOD_NOT_FOUND, message: `No method ${method}` } };
    this.#send({ id, ...(method === 'ping' ? { result: {} } : unknown) });
  }
}

export interface RequestOptions {
  timeoutMs?: number;
  signal?: AbortSignal;
}

export interface JsonRpcClient {
  request<T>(method: string, params: unknown, options?: RequestOptions): Promise<T>;
  notify(method: string, params: unknown): void;
  close(): Promise<void>;
}

/** How busy a server is, which decides when it may end. Its client reports every request. */
export class Activity {
  readonly #now: () => number;
  #inFlight = 0;
  /** On the monotonic clock. */
  lastAt: number;

  constructor(now: () => number) {
    this.#now = now;
    this.lastAt = now();
  }

  get isBusy(): boolean {
    return this.#inFlight > 0;
  }

  touch(): void {
    this.lastAt = this.#now();
  }

  begin(): void {
    this.#inFlight += 1;
    this.touch();
  }

  end(): void {
    this.#inFlight -= 1;
    this.touch();
  }
}
