import type { Readable, Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { Clock } from '../../base/clock.ts';
import type { BoundProcess, BoundSpec } from '../../process/bound.ts';
import { readToolResult } from '../partitioner/tool-result.ts';
import { Activity, type JsonRpcClient } from './json-rpc-client.ts';
import { McpServerError, ProcessStartError, serverDied } from './mcp-server-error.ts';
import { OutputTail } from './output-tail.ts';
import { settledWithin } from './settled-within.ts';
import type { Timings } from './timings.ts';

export type ServerProcess = Pick<BoundProcess, 'identity' | 'exited' | 'close'> & {
  stdin: Writable;
  stdout: Readable;
  stderr: Readable;
};

export interface Connection {
  worktreePath: string;
  activity: Activity;
  onSilence(): void;
}

export interface StartParts {
  worktreePath: string;
  spec: BoundSpec;
  /** Resolves when there is room for one more, which `take` has taken by then. */
  admit(signal: AbortSignal, take: () => void): Promise<void>;
  launch(spec: BoundSpec): Promise<ServerProcess>;
  connect(process: ServerProcess, connection: Connection): JsonRpcClient;
  /** At once and once, when it begins to go: from here on nobody may find it. */
  onLeaving(): void;
  clock: Clock;
  timings: Timings;
}

/** `ended` on purpose; `failed` to start; `died` by itself; `ceiling`: ended because it was too large. */
export interface Gone {
  why: 'ended' | 'failed' | 'died' | 'ceiling';
  /** False when it did not come as far as a process. */
  wasStarted: boolean;
  /** Of the program, if it ended by itself. */
  code: number | null;
}

const STDERR_BYTES = 4_096;
const LAST_WORDS_MS = 500;
const CLIENT = {
  protocolVersion: '2025-06-18',
  capabilities: {},
  clientInfo: { name: 'reef', version: '1' },
};

/** One server from its start to the last process of its tree. */
export class ManagedProcess {
  readonly worktreePath: string;
  readonly activity: Activity;
  /** Settles after the handshake. */
  readonly connected: Promise<JsonRpcClient>;
  /** Settles when `index_code` is confirmed; a start that failed has left no process behind by then (C-072). */
  readonly usable: Promise<void>;
  readonly gone: Promise<Gone>;
  readonly #parts: StartParts;
  readonly #abort = new AbortController();
  readonly #resolveGone: (gone: Gone) => void;
  readonly #stderr = new OutputTail(STDERR_BYTES);
  #launched: Promise<ServerProcess> | undefined;
  #process: ServerProcess | undefined;
  #client: JsonRpcClient | undefined;
  #isAdmitted = false;
  #isConnected = false;
  #isUsable = false;
  #leaving: Promise<void> | undefined;
  #why: Gone['why'] | undefined;

  constructor(parts: StartParts) {
    this.#parts = parts;
    this.worktreePath = parts.worktreePath;
    this.activity = new Activity(() => parts.clock.monotonicMs());
    const { promise, resolve } = Promise.withResolvers<Gone>();
    this.gone = promise;
    this.#resolveGone = resolve;
    this.connected = this.#connect();
    this.usable = this.#start();
    this.usable.catch(() => {}); // its callers are told; a start in the background has none
  }

  /** From the handshake until it begins to go. */
  get client(): JsonRpcClient | undefined {
    return this.#isConnected && this.#leaving === undefined ? this.#client : undefined;
  }

  get process(): ServerProcess | undefined {
    return this.#process;
  }

  /** There is a process, or will be: it counts. */
  get isAdmitted(): boolean {
    return this.#isAdmitted;
  }

  get isUsable(): boolean {
    return this.#isUsable;
  }

  /** A start counts as a call in flight: its server is not idle but new. */
  get isBusy(): boolean {
    return !this.#isUsable || this.activity.isBusy;
  }

  /** Resolves when the tree is gone. A start under way is given up. Whoever comes first says why. */
  leave(why: Gone['why']): Promise<void> {
    this.#leaving ??= this.#leave(why);
    return this.#leaving;
  }

  async #start(): Promise<void> {
    try {
      await this.#index(await this.connected);
      this.#abort.signal.throwIfAborted();
      this.#isUsable = true;
    } catch (error) {
      await this.leave('failed');
      throw error;
    }
  }

  async #connect(): Promise<JsonRpcClient> {
    const { signal } = this.#abort;
    const { admit, launch, connect, spec, worktreePath, timings } = this.#parts;
    await admit(signal, () => {
      this.#isAdmitted = true;
    });
    this.#launched = launch(spec);
    const process = await this.#launched.catch((cause: unknown) => {
      const message = `The analysis server could not be started: ${(cause as Error).message}`;
      throw new ProcessStartError(message, { worktreePath, cause, stderr: '' });
    });
    this.#process = process;
    signal.throwIfAborted();
    process.stderr.on('data', (chunk: Buffer) => this.#stderr.push(chunk));
    void process.exited.then(() => this.leave('died'));
    const onSilence = () => void this.leave('died');
    const client = connect(process, { worktreePath, activity: this.activity, onSilence });
    this.#client = client;
    await client.request('initialize', CLIENT, { timeoutMs: timings.start, signal }).catch(async (cause: unknown) => {
      throw await this.#startError(cause, process);
    });
    client.notify('notifications/initialized', {});
    this.#isConnected = true;
    return client;
  }

  /** Its last words may still be on their way when its end is known. */
  async #startError(cause: unknown, { stderr }: ServerProcess): Promise<unknown> {
    if (this.#why === 'ended') return cause;
    const { worktreePath } = this;
    if (this.#why === 'died') await settledWithin(this.#parts.clock, LAST_WORDS_MS, finished(stderr));
    const message = `The analysis server did not come up: ${(cause as Error).message}`;
    return new ProcessStartError(message, { worktreePath, cause, stderr: this.#stderr.text() });
  }

  async #index(client: JsonRpcClient): Promise<void> {
    const { worktreePath, timings } = this.#parts;
    const params = { name: 'index_code', arguments: { path: worktreePath } };
    const options = { timeoutMs: timings.index, signal: this.#abort.signal };
    readToolResult('index_code', await client.request('tools/call', params, options), worktreePath);
  }

  async #leave(why: Gone['why']): Promise<void> {
    this.#why = why;
    this.#parts.onLeaving();
    this.#abort.abort(why === 'ended' ? this.#stopped() : serverDied(this.worktreePath));
    const process = await this.#launched?.catch(() => undefined);
    await this.#client?.close();
    const code = process ? await this.#endProcess(process, why) : null;
    this.#resolveGone({ why, code, wasStarted: process !== undefined });
  }

  /** The code is that of a program which ended before it was made to. */
  async #endProcess(process: ServerProcess, why: Gone['why']): Promise<number | null> {
    const { clock, timings } = this.#parts;
    process.stdin.end();
    const itself = await settledWithin(clock, timings.inputEnd, process.exited);
    await process.close({ graceMs: why === 'ended' ? timings.grace : 0 });
    return itself?.code ?? null;
  }

  #stopped(): McpServerError {
    const { worktreePath } = this;
    return new McpServerError('no_active_server', 'The analysis server was stopped while it started.', {
      worktreePath,
    });
  }
}
