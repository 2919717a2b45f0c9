import { ReefError } from '../../../protocol/errors.ts';
import type { ConnectOptions } from '../connection/connect.ts';
import type { Connection } from '../connection/connection.ts';
import type { AcquireOptions, McpCallResult, McpHandle, McpServerSpec, McpTool } from '../factory.ts';

/** What a server needs of the pool it lives in. */
export interface ServerOwner {
  connect(spec: McpServerSpec, options: ConnectOptions): Promise<Connection>;
  /** The server ended without being asked to. */
  died(server: Server): void;
  /** A server that keeps dying is not started again. */
  isOff(server: Server): boolean;
}

const START_TIMEOUT_MS = 30_000;
const STOP_GRACE_MS = 2_000;

/** One server and the process now behind it: started once however many ask, started again by the first call after a death. */
export class Server implements McpHandle {
  readonly spec: McpServerSpec;
  readonly key: string;
  readonly #owner: ServerOwner;
  readonly #ending = new AbortController();
  #connection: Connection | undefined;
  #starting: Promise<Connection> | undefined;
  #reaping: Promise<void> = Promise.resolve();
  #hasRun = false;
  #tools: readonly McpTool[] = [];
  #instructions: string | undefined;
  #logPath: string | undefined;

  constructor(spec: McpServerSpec, key: string, owner: ServerOwner) {
    this.spec = spec;
    this.key = key;
    this.#owner = owner;
  }

  get name(): string {
    return this.spec.name;
  }

  get pid(): number | undefined {
    return this.#connection?.pid;
  }

  get isAlive(): boolean {
    return this.#connection !== undefined;
  }

  get instructions(): string | undefined {
    return this.#instructions;
  }

  get tools(): readonly McpTool[] {
    return this.#connection?.tools() ?? this.#tools;
  }

  async call(tool: string, args: Readonly<Record<string, unknown>>, signal?: AbortSignal): Promise<McpCallResult> {
    signal?.throwIfAborted();
    const connection = this.#connection ?? (await this.ensure({}));
    return await connection.call(tool, args, signal);
  }

  async ping(timeoutMs: number): Promise<void> {
    await this.#connection?.ping(timeoutMs);
  }

  /** Running when this resolves. Whoever comes while it starts waits for the same start. */
  ensure(options: AcquireOptions): Promise<Connection> {
    if (this.#connection) return Promise.resolve(this.#connection);
    if (!this.#starting) {
      const starting = this.#start(options).finally(() => {
        this.#starting = undefined;
      });
      this.#starting = starting;
    }
    return this.#starting;
  }

  /** Ends it, also while it starts, with its whole tree. */
  async close(): Promise<void> {
    this.#ending.abort(new ReefError('mcp_server_gone', `MCP server ${this.name} was stopped`));
    await this.#starting?.catch(() => {}); // its failure went to those who asked for the start
    const connection = this.#connection;
    await connection?.close(STOP_GRACE_MS);
    if (connection) this.#lost(connection); // that its process ended may be told later than it is so
    await this.#reaping;
  }

  async #start({ timeoutMs = START_TIMEOUT_MS, logPath = this.#logPath }: AcquireOptions): Promise<Connection> {
    this.#refuse();
    this.#logPath = logPath;
    const connection = await this.#owner.connect(this.spec, { signal: this.#ending.signal, timeoutMs, logPath });
    this.#hasRun = true;
    this.#connection = connection;
    this.#instructions = connection.instructions;
    void connection.gone.then(() => this.#lost(connection));
    return connection;
  }

  #refuse(): void {
    this.#ending.signal.throwIfAborted();
    if (this.#hasRun && !this.spec.share) {
      throw new ReefError('mcp_server_gone', `MCP server ${this.name} ended; its state is lost, so it is not revived`);
    }
    if (this.#owner.isOff(this)) {
      throw new ReefError('mcp_server_gone', `MCP server ${this.name} died three times within a minute and stays off`);
    }
  }

  #lost(connection: Connection): void {
    this.#tools = connection.tools();
    this.#connection = undefined;
    if (this.#ending.signal.aborted) return;
    // Its children may live on, or the server itself, having only closed its output.
    this.#reaping = connection.close(0);
    this.#owner.died(this);
  }
}
