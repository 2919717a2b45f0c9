import { rmSync, symlinkSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { parseJson } from '../../base/safe-json.ts';
import { firstLine, TAKEN } from './first-line.ts';

/** Who a job is, as its own process tells the one that runs it. */
const helloSchema = z.strictObject({
  agent: z.string().min(1).max(128),
  jobId: z.string().min(1),
  parentId: z.string().min(1).optional(),
  depth: z.number().int().nonnegative(),
  cwd: z.string(),
  /** The job socket: how this job reaches the daemon. */
  door: z.string(),
  sessionId: z.string(),
  model: z.string().optional(),
  /** It waits for a next message when its turn is over. */
  keep: z.boolean(),
});
export type Hello = z.infer<typeof helloSchema>;

/** Beside the socket of a job: where its children find the process that runs it. */
export function treeSocketPath(door: string): string {
  return join(dirname(door), 'host');
}

export interface TreeSocket {
  close(): void;
}

/** `take` is false when the child is not one of ours. The connection lasts as long as its job. */
export async function listen(path: string, take: (hello: Hello, socket: Socket) => boolean): Promise<TreeSocket> {
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

/** The children of a child find the same process beside its own job socket. */
function pointTo(path: string, { door }: Hello, socket: Socket): void {
  const link = treeSocketPath(door);
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
