import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import type { Client } from '../client/client.ts';
import { listenAt } from '../http/server.ts';
import { serveMcp, type Tool } from './server.ts';

/** Sub-agents of an agent start their own. */
const MOST_CONNECTIONS = 64;

interface JobTools {
  path: string;
  /** Of the job: relative folders are meant as it sees them. */
  folder: string;
  client: Client;
  tools: readonly Tool[];
}

/** Serves the tools of one job to all that its agent connects. In the job `reef mcp` is only a pipe to this. */
export async function serveJobTools({ path, client, ...served }: JobTools): Promise<{ close(): Promise<void> }> {
  const connected = new Set<Socket>();
  const server = createServer((socket) => {
    connected.add(socket);
    socket.on('error', () => {}); // `close` follows
    socket.once('close', () => connected.delete(socket));
    void serveMcp(() => client, { stdin: socket, stdout: socket, user: 'job', ...served }).then(() => socket.end());
  });
  server.maxConnections = MOST_CONNECTIONS;
  await listenAt(server, path);
  return {
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      for (const socket of connected) socket.destroy();
      await closed;
    },
  };
}
