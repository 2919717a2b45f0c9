import type { Socket } from 'node:net';
import { CLIENT_HEADER, routes, TOOL_LINE } from '../../protocol/daemon.ts';

/** No tool takes longer than 45 s. A daemon that is silent for a minute hangs. */
const SILENCE_MS = 60_000;
const [NEWLINE, BLANK] = [0x0a, 0x20];

/** A connection to the daemon that carries one reading call a line, and each answer as the bytes its reader gets. */
export class ToolLine {
  readonly #socket: Socket;
  readonly #open = new Map<number, (result: Buffer | undefined) => void>();
  #last = 0;
  #rest: Buffer[] = [];

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    socket.on('error', () => {}); // `close` follows
    socket.setTimeout(SILENCE_MS, () => {
      if (this.#open.size > 0) socket.destroy();
    });
    socket.on('close', () => {
      for (const n of [...this.#open.keys()]) this.#settle(n, undefined);
    });
  }

  get isOpen(): boolean {
    return !this.#socket.destroyed;
  }

  /** Undefined: it has to be asked the ordinary way. */
  ask(call: { name: string; args: unknown }, signal: AbortSignal): Promise<Buffer | undefined> {
    this.#last += 1;
    const n = this.#last;
    return new Promise((resolve) => {
      if (!this.isOpen || signal.aborted) return resolve(undefined);
      this.#open.set(n, resolve);
      signal.addEventListener('abort', () => this.#giveUp(n), { once: true });
      this.#socket.write(`${JSON.stringify({ n, ...call })}\n`);
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #giveUp(n: number): void {
    if (!this.#open.has(n)) return;
    this.#settle(n, undefined);
    if (this.isOpen) this.#socket.write(`{"n":${n}}\n`);
  }

  #settle(n: number, result: Buffer | undefined): void {
    const resolve = this.#open.get(n);
    this.#open.delete(n);
    resolve?.(result);
  }

  #read(chunk: Buffer): void {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, from)) {
      const part = chunk.subarray(from, end);
      this.#answered(this.#rest.length === 0 ? part : Buffer.concat([...this.#rest, part]));
      this.#rest = [];
      from = end + 1;
    }
    if (from < chunk.length) this.#rest.push(chunk.subarray(from));
  }

  #answered(line: Buffer): void {
    const blank = line.indexOf(BLANK);
    const n = Number(line.toString('latin1', 0, blank === -1 ? line.length : blank));
    this.#settle(n, blank === -1 ? undefined : line.subarray(blank + 1));
  }
}

/** Undefined where nobody listens, or a daemon that has no lines. */
export function openToolLine(socketPath: string, client: string): Promise<ToolLine | undefined> {
  // Not imported, as in `request.ts`.
  const { request: httpRequest } = process.getBuiltinModule('node:http');
  return new Promise((resolve) => {
    const headers = { connection: 'Upgrade', upgrade: TOOL_LINE, [CLIENT_HEADER]: encodeURIComponent(client) };
    const request = httpRequest({ socketPath, path: routes.tools, headers, agent: false });
    request.on('upgrade', (_response, socket: Socket) => resolve(new ToolLine(socket)));
    request.on('response', (response) => {
      response.resume();
      resolve(undefined);
    });
    request.on('error', () => resolve(undefined));
    request.end();
  });
}
