import type { CodeToolArgs, CodeToolName, CodeToolResult } from '../../src/protocol/code.ts';
import { ServerClient } from '../../test/support/context/server-client.ts';
import { cpuMs } from './cpu.ts';

/** How a server ends that cannot stay under its ceiling: it has stored what it knows. */
const AT_CEILING = 75;
const LOOK_MS = 50;
const MOST_LIVES = 40;

type Serving = ConstructorParameters<typeof ServerClient>[0];

/** A server that is started again when it ends at its ceiling, as the manager does it; the question is then asked again. */
export class LastingServer {
  readonly #serving: Serving;
  readonly #timer: NodeJS.Timeout;
  #client: ServerClient;
  /** Of the processes that have ended. */
  #before = { cpu: 0, peakMb: 0 };
  /** Of the one that runs, as last seen: of a process that is gone nothing can be read. */
  #seen = { cpu: 0, peakMb: 0 };
  lives = 1;

  constructor(serving: Serving) {
    this.#serving = serving;
    this.#client = new ServerClient(serving);
    this.#timer = setInterval(() => this.#look(), LOOK_MS);
    this.#timer.unref();
  }

  async start(): Promise<void> {
    await this.#client.request('initialize', {});
  }

  async call<N extends CodeToolName>(name: N, args: CodeToolArgs<N>): Promise<CodeToolResult<N>> {
    for (;;) {
      const client = this.#client;
      try {
        return await client.call(name, args);
      } catch (error) {
        if (client.child.exitCode === null || (await client.exited) !== AT_CEILING || this.lives >= MOST_LIVES)
          throw error;
        this.#goOn(client);
      }
    }
  }

  /** Of all its processes. What one did in its last twentieth of a second is missing. */
  cpuMs(): number {
    this.#look();
    return this.#before.cpu + this.#seen.cpu;
  }

  peakMb(): number {
    this.#look();
    return Math.max(this.#before.peakMb, this.#seen.peakMb);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#client.close();
  }

  #look(): void {
    const { child } = this.#client;
    if (child.exitCode !== null || child.pid === undefined) return;
    try {
      this.#seen = { cpu: cpuMs(child.pid), peakMb: this.#client.peakMb() };
    } catch {
      // It ended this moment.
    }
  }

  /** Many questions may fail at once: the first of them starts the next process. */
  #goOn(ended: ServerClient): void {
    if (this.#client !== ended) return;
    this.#before = {
      cpu: this.#before.cpu + this.#seen.cpu,
      peakMb: Math.max(this.#before.peakMb, this.#seen.peakMb),
    };
    this.#seen = { cpu: 0, peakMb: 0 };
    this.lives += 1;
    this.#client = new ServerClient(this.#serving);
  }
}
