import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { routes, TOOL_LINE } from '../../protocol/daemon.ts';

/** Of more clients the one that came first loses its line, and opens another with its next call. */
const MOST_LINES = 64;
const ACCEPTED = `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${TOOL_LINE}\r\n\r\n`;
const REFUSED = 'HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n';

/** Connections that have become lines for the tools of MCP clients: no longer requests, so nobody else closes them. */
export class UpgradedLines {
  readonly #open = new Set<Socket>();

  /** Undefined when something else was asked for. */
  accept({ url, headers }: IncomingMessage, socket: Socket): Socket | undefined {
    socket.on('error', () => {}); // `close` follows
    if (url !== routes.tools || headers.upgrade !== TOOL_LINE) {
      socket.end(REFUSED);
      return undefined;
    }
    const [oldest] = this.#open;
    if (oldest && this.#open.size >= MOST_LINES) oldest.destroy();
    this.#open.add(socket);
    socket.once('close', () => this.#open.delete(socket));
    socket.write(ACCEPTED);
    return socket;
  }

  close(): void {
    for (const socket of this.#open) socket.destroy();
  }
}
