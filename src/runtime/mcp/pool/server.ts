import { ReefError } from '../../../protocol/errors.ts';
import type { ToolApprovals } from '../approval/approvals.ts';
import type { ConnectOptions } from '../connection/connect.ts';
import type { Connection } from '../connection/connection.ts';
import {
  type AcquireOptions,
  type McpCallResult,
  type McpHandle,
  type McpServerSpec,
  type McpTool,
  serverKey,
} from '../factory.ts';

export interface ServerDeps {
  /** Rejects a server that would be started in a way that no person approved. */
  admit(spec: McpServerSpec): Promise<ToolApprovals>;
  connect(spec: McpServerSpec, options: ConnectOptions): Promise<Connection>;
  /** Called when the server ended by itself. */
  died(): void;
  /** True for a server that keeps dying: it is not started again. */
  isOff(): boolean;
}

const START_TIMEOUT_MS = 30_000;
const STOP_GRACE_MS = 2_000;

/** One server. However many ask, it starts once; the first call after a death starts it again. */
export class Server implements McpHandle {
  readonly spec: McpServerSpec;
  readonly key: string;
  readonly #deps: ServerDeps;
  readonly #ending = new AbortController();
  #connection: Connection | undefined;
  #starting: Promise<Connection> | undefined;
  #reaping: Promise<void> = Promise.resolve();
  #hasRun = false;
  #offered: readonly McpTool[] = [];
  #approvals: ToolApprovals | undefined;
  #sifted: ReturnType<ToolApprovals['sift']> & { of?: readonly McpTool[] } = { tools: [], suspended: [] };

  constructor(spec: McpServerSpec, deps: ServerDeps) {
    this.spec = spec;
    this.key = serverKey(spec);
    this.#deps = deps;
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

  get tools(): readonly McpTool[] {
    return this.#sift().tools;
  }

  get suspended(): readonly string[] {
    return this.#sift().suspended.map(({ name }) => name);
  }

  /** Reads what a person has approved since. */
  reapprove(): void {
    this.#approvals?.reload();
    this.#sifted = { tools: [], suspended: [] };
  }

  /** A server may change its tools at any time; each list is looked at once. */
  #sift(): ReturnType<ToolApprovals['sift']> {
    const offered = this.#connection?.tools() ?? this.#offered;
    if (this.#approvals && this.#sifted.of !== offered) {
      this.#sifted = { ...this.#approvals.sift(offered), of: offered };
    }
    return this.#sifted;
  }

  async call(tool: string, args: Readonly<Record<string, unknown>>, signal?: AbortSignal): Promise<McpCallResult> {
    signal?.throwIfAborted();
    const connection = this.#connection ?? (await this.ensure({}));
    return await connection.call(tool, args, signal);
  }

  async ping(timeoutMs: number): Promise<void> {
    await this.#connection?.ping(timeoutMs);
  }

  /** Resolves when the server runs. Calls during a start wait for that start. */
  ensure(options: AcquireOptions): Promise<Connection> {
    if (this.#connection) return Promise.resolve(this.#connection);
    if (!this.#starting) {
      this.#starting = this.#start(options).finally(() => {
        this.#starting = undefined;
      });
    }
    return this.#starting;
  }

  /** Ends the server and its child processes, also during a start. */
  async close(): Promise<void> {
    this.#ending.abort(new ReefError('mcp_server_gone', `MCP server ${this.name} was stopped`));
    await this.#starting?.catch(() => {}); // its callers have the failure
    const connection = this.#connection;
    await connection?.close(STOP_GRACE_MS);
    if (connection) this.#lost(connection); // `gone` may resolve later
    await this.#reaping;
  }

  async #start({ timeoutMs = START_TIMEOUT_MS }: AcquireOptions): Promise<Connection> {
    this.#refuse();
    this.#approvals = await this.#deps.admit(this.spec);
    const connection = await this.#deps.connect(this.spec, { signal: this.#ending.signal, timeoutMs });
    this.#hasRun = true;
    this.#connection = connection;
    void connection.gone.then(() => this.#lost(connection));
    this.#sift();
    await this.#approvals.saved();
    return connection;
  }

  #refuse(): void {
    this.#ending.signal.throwIfAborted();
    if (this.#hasRun && !this.spec.share) {
      throw new ReefError(
        'mcp_server_gone',
        `MCP server ${this.name} ended; its state is lost, so it is not started again`,
      );
    }
    if (this.#deps.isOff()) {
      throw new ReefError('mcp_server_gone', `MCP server ${this.name} died three times within a minute and stays off`);
    }
  }

  #lost(connection: Connection): void {
    this.#offered = connection.tools();
    this.#connection = undefined;
    if (this.#ending.signal.aborted) return;
    // Its child processes may live on, or the server has only closed its output.
    this.#reaping = connection.close(0);
    this.#deps.died();
  }
}
