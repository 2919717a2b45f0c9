import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** Connections that have not asked anything yet. Ours ask at once, but a hundred commands may start in one moment. */
const MOST_SILENT = 256;
/** Calls that are being answered, those of MCP clients and jobs. */
const MOST_CALLS = 64;
const KEPT_FOR_PEOPLE = 16;
const HEADERS_MS = 10_000;

/**
 * Keeps a socket reachable whatever somebody connects to it: of the connections that say nothing the oldest is dropped for a
 * new one, and calls of others leave room for those of a person.
 */
export class Connections {
  readonly #silent = new Set<Socket>();
  #calls = 0;

  constructor(server: Server, headersMs = HEADERS_MS) {
    server.headersTimeout = headersMs;
    server.on('connection', (socket: Socket) => {
      this.#silent.add(socket);
      socket.once('close', () => this.#silent.delete(socket));
      const [oldest] = this.#silent;
      if (this.#silent.size > MOST_SILENT) oldest?.destroy();
    });
  }

  /** A call has come in. False when it is one too many. */
  begin(socket: Socket, isPerson: boolean): boolean {
    this.#silent.delete(socket);
    if (this.#calls >= MOST_CALLS + (isPerson ? KEPT_FOR_PEOPLE : 0)) return false;
    this.#calls += 1;
    return true;
  }

  end(): void {
    this.#calls -= 1;
  }
}
