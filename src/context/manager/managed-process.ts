import type { Clock } from '../../base/clock.ts';
import { settledWithin } from '../../base/wait.ts';
import { followLog, lastWords, type ServerLog } from '../../child-servers/server-log.ts';
import type { BoundProcess, BoundSpec } from '../../process/bound.ts';
import { McpServerError, ProcessStartError, serverDied } from '../client/mcp-server-error.ts';
import { Activity, type Connection, type JsonRpcClient } from '../client/stdio-client.ts';
import { readToolResult } from '../client/tool-result.ts';
import type { Timings } from './timings.ts';

interface StartDeps {
  worktreePath: string;
  spec: BoundSpec;
  /** Resolves when there is room for one more server. It has called `take` by then. */
  admit(signal: AbortSignal, take: () => void): Promise<void>;
  launch(spec: BoundSpec): Promise<BoundProcess>;
  connect(process: BoundProcess, connection: Connection): JsonRpcClient;
  /** Called once, when the server begins to end: from now on nobody may find it. */
  onLeaving(): void;
  clock: Clock;
  timings: Timings;
}

/** Why a server is gone: `ended` on purpose, `failed` to start, `died` by itself, or ended above the memory `ceiling`. */
export interface Gone {
  why: 'ended' | 'failed' | 'died' | 'ceiling';
  wasStarted: boolean;
  /** The exit code of a program that ended by itself. */
  code: number | null;
}

const CLIENT = {
  protocolVersion: '2025-06-18',
  capabilities: {},
  clientInfo: { name: 'reef', version: '1' },
};

/** One server, from its start until the last process of its tree has ended. */
export class ManagedProcess {
  readonly worktreePath: string;
  readonly activity: Activity;
  readonly connected: Promise<JsonRpcClient>;
  /** Settles when `index_code` is confirmed. A failed start has left no process behind by then. */
  readonly usable: Promise<void>;
  readonly gone: Promise<Gone>;
  readonly #deps: StartDeps;
  readonly #abort = new AbortController();
  readonly #resolveGone: (gone: Gone) => void;
  #launched: Promise<BoundProcess> | undefined;
  process: BoundProcess | undefined;
  #client: JsonRpcClient | undefined;
  /** There is a process or will be, so it counts towards the limit. */
  isAdmitted = false;
  #isConnected = false;
  isUsable = false;
  #leaving: Promise<void> | undefined;
  #why: Gone['why'] | undefined;

  constructor(deps: StartDeps) {
    this.#deps = deps;
    this.worktreePath = deps.worktreePath;
    this.activity = new Activity(() => deps.clock.monotonicMs());
    const { promise, resolve } = Promise.withResolvers<Gone>();
    this.gone = promise;
    this.#resolveGone = resolve;
    this.connected = this.#connect();
    this.usable = this.#start();
    this.usable.catch(() => {}); // a start in the background has no caller
  }

  /** Set from the handshake until the server begins to end. */
  get client(): JsonRpcClient | undefined {
    return this.#isConnected && this.#leaving === undefined ? this.#client : undefined;
  }

  /** A start counts as a call in flight. */
  get isBusy(): boolean {
    return !this.isUsable || this.activity.isBusy;
  }

  /** Resolves when the process tree is gone. Cancels a start. The first call decides why. */
  leave(why: Gone['why']): Promise<void> {
    this.#leaving ??= this.#leave(why);
    return this.#leaving;
  }

  async #start(): Promise<void> {
    try {
      await this.#index(await this.connected);
      this.#abort.signal.throwIfAborted();
      this.isUsable = true;
    } catch (error) {
      await this.leave('failed');
      throw error;
    }
  }

  async #connect(): Promise<JsonRpcClient> {
    const { signal } = this.#abort;
    const { admit, launch, connect, spec, worktreePath, timings } = this.#deps;
    await admit(signal, () => {
      this.isAdmitted = true;
    });
    this.#launched = launch(spec);
    const process = await this.#launched.catch((cause: unknown) => {
      const message = `The analysis server could not be started: ${(cause as Error).message}`;
      throw new ProcessStartError(message, { worktreePath, cause, stderr: '' });
    });
    this.process = process;
    signal.throwIfAborted();
    const log = followLog(process.stderr);
    void process.exited.then(() => this.leave('died'));
    const onSilence = () => void this.leave('died');
    const client = connect(process, { worktreePath, activity: this.activity, onSilence });
    this.#client = client;
    await client.request('initialize', CLIENT, { timeoutMs: timings.start, signal }).catch(async (cause: unknown) => {
      throw await this.#startError(cause, process, log);
    });
    client.notify('notifications/initialized', {});
    this.#isConnected = true;
    return client;
  }

  async #startError(cause: unknown, process: BoundProcess, log: ServerLog): Promise<unknown> {
    if (this.#why === 'ended') return cause;
    const stderr = this.#why === 'died' ? (await lastWords(process, log)).said : log.tail();
    const message = `The analysis server did not come up: ${(cause as Error).message}`;
    return new ProcessStartError(message, { worktreePath: this.worktreePath, cause, stderr });
  }

  async #index(client: JsonRpcClient): Promise<void> {
    const { worktreePath } = this;
    const args = { path: worktreePath };
    const options = { timeoutMs: this.#deps.timings.index, signal: this.#abort.signal };
    const response = await client.request('tools/call', { name: 'index_code', arguments: args }, options);
    await readToolResult('index_code', response, { worktreePath, args });
  }

  async #leave(why: Gone['why']): Promise<void> {
    this.#why = why;
    this.#deps.onLeaving();
    const { worktreePath } = this;
    const message = 'The analysis server was stopped while it started.';
    const stopped = new McpServerError('no_active_server', message, { worktreePath });
    this.#abort.abort(why === 'ended' ? stopped : serverDied(worktreePath));
    const process = await this.#launched?.catch(() => undefined);
    await this.#client?.close();
    const code = process ? await this.#endProcess(process, why) : null;
    this.#resolveGone({ why, code, wasStarted: process !== undefined });
  }

  /** Returns the exit code if the program ends by itself before it is killed. */
  async #endProcess(process: BoundProcess, why: Gone['why']): Promise<number | null> {
    const { clock, timings } = this.#deps;
    process.stdin.end();
    const itself = await settledWithin(clock, timings.inputEnd, process.exited);
    await process.close({ graceMs: why === 'ended' ? timings.grace : 0 });
    return itself?.code ?? null;
  }
}
