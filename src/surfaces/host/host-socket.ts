import { rmSync, symlinkSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { parseJson } from '../../base/safe-json.ts';
import { firstLine, TAKEN } from './first-line.ts';
import { type Hello, helloSchema } from './hello.ts';

/** Beside the door of a job: where its children find the host that runs it. */
export function hostPath(door: string): string {
  return join(dirname(door), 'host');
}

export interface HostSocket {
  close(): void;
}

/** `take` is false when the child is not one of ours. The connection lasts as long as its job. */
export async function listen(path: string, take: (hello: Hello, socket: Socket) => boolean): Promise<HostSocket> {
  const open = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    open.add(socket);
    socket.on('error', () => {}); // `close` follows
    socket.once('close', () => open.delete(socket));
    void greet(socket, path, take);
  });
  rmSync(path, { force: true });
  await listening(server, path);
  return {
    close() {
      server.close();
      for (const socket of open) socket.destroy();
      rmSync(path, { force: true });
    },
  };
}

async function greet(socket: Socket, path: string, take: Parameters<typeof listen>[1]): Promise<void> {
  const parsed = parseJson((await firstLine(socket)) ?? '');
  const { data: hello } = helloSchema.safeParse(parsed.ok ? parsed.value : undefined);
  if (!hello) {
    socket.destroy();
    return;
  }
  const isTaken = take(hello, socket);
  socket.write(isTaken ? `${TAKEN}\n` : 'refused\n');
  if (!isTaken) socket.end();
  else pointTo(path, hello, socket);
}

/** The children of a child find the same host beside its own door. */
function pointTo(path: string, { door }: Hello, socket: Socket): void {
  const link = hostPath(door);
  if (link === path) return;
  rmSync(link, { force: true });
  symlinkSync(path, link);
  socket.once('close', () => rmSync(link, { force: true }));
}

function listening(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, resolve);
  });
}
