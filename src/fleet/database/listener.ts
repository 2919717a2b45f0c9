import { systemClock } from '../../base/clock.ts';
import type { Connection, Heard } from './database.ts';

type Hear = (heard: Heard | undefined) => void;

const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 5_000;

/** One connection for all channels, taken anew when it is lost. */
export class Listener {
  readonly #connect: () => Promise<Connection>;
  readonly #ears = new Map<string, Set<Hear>>();
  readonly #closing = new AbortController();
  #connection: Promise<Connection> | undefined;

  constructor(connect: () => Promise<Connection>) {
    this.#connect = connect;
  }

  async listen(channel: string, hear: Hear): Promise<() => void> {
    const ears = this.#ears.get(channel) ?? new Set();
    const isNew = ears.size === 0;
    this.#ears.set(channel, ears.add(hear));
    if (!this.#connection) await this.#open();
    else if (isNew) await (await this.#connection).query(`LISTEN "${channel}"`);
    return () => ears.delete(hear);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await (await this.#connection?.catch(() => undefined))?.close();
  }

  async #open(): Promise<void> {
    this.#connection = (async () => {
      const connection = await this.#connect();
      connection.onNotice((heard) => this.#tell(heard.channel, heard));
      for (const channel of this.#ears.keys()) await connection.query(`LISTEN "${channel}"`);
      return connection;
    })();
    this.#connection.catch(() => {
      this.#connection = undefined;
    });
    const { over } = await this.#connection;
    over.addEventListener('abort', () => void this.#reopen(), { once: true });
    if (over.aborted) void this.#reopen();
  }

  async #reopen(): Promise<void> {
    const { signal } = this.#closing;
    for (let wait = FIRST_WAIT_MS; !signal.aborted; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
      try {
        await this.#open();
        for (const channel of this.#ears.keys()) this.#tell(channel, undefined);
        return;
      } catch {
        await systemClock.sleep(wait, signal).catch(() => undefined);
      }
    }
  }

  #tell(channel: string, heard: Heard | undefined): void {
    for (const hear of this.#ears.get(channel) ?? []) hear(heard);
  }
}
