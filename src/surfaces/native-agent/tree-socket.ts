import { once } from 'node:events';
import { rmSync, symlinkSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { parseJson } from '../../base/safe-json.ts';
import { firstLine, TAKEN } from './first-line.ts';

/** A job's process introduces itself to the process of its root. */
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
  /** It waits for another message after its turn. */
  keep: z.boolean(),
});
export type Hello = z.infer<typeof helloSchema>;

/** The socket beside a job socket, at which the job's children reach the process that runs it. */
export function treeSocketPath(door: string): string {
  return join(dirname(door), 'host');
}

export interface TreeSocket {
  close(): void;
}

/** `take` is false for a job that does not run here. A connection lasts as long as its job. */
export async function listen(path: string, take: (hello: Hello, socket: Socket) => boolean): Promise<TreeSocket> {
  const open = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    open.add(socket);
    socket.on('error', () => {}); // `close` follows
    socket.once('close', () => open.delete(socket));
    void greet(socket, path, take);
  });
  rmSync(path, { force: true });
  server.listen(path);
  await once(server, 'listening');
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

/** The children of a child reach the same process through a link beside its own job socket. */
function pointTo(path: string, { door }: Hello, socket: Socket): void {
  const link = treeSocketPath(door);
  if (link === path) return;
  rmSync(link, { force: true });
  symlinkSync(path, link);
  socket.once('close', () => rmSync(link, { force: true }));
}
