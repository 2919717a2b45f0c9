import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface Link extends AsyncDisposable {
  readonly port: number;
  /** Bytes that went nowhere, and connections that were refused or ended: proof that the fault fired. */
  readonly lost: number;
  /** Connections stay up and the kernel answers for them, but no byte arrives any more. */
  swallow(): void;
  /** Ends every connection, and each new one at once. */
  cut(): void;
  /** New connections work. Those that lost bytes stay dead, as behind a router that forgot them. */
  heal(): void;
}

/** A cable between a worker and the database, which a test unplugs. */
export async function startLink(port: number): Promise<Link> {
  const sockets = new Set<Socket>();
  let state: 'up' | 'swallow' | 'cut' = 'up';
  let lost = 0;
  const server = createServer((client) => {
    sockets.add(client.on('error', () => undefined));
    if (state === 'cut') {
      lost++;
      client.destroy();
      return;
    }
    const upstream = connect(port, '127.0.0.1').on('error', () => undefined);
    sockets.add(upstream);
    let isDead = state === 'swallow';
    const pass = (to: Socket) => (chunk: Buffer) => {
      isDead ||= state === 'swallow';
      if (isDead) lost += chunk.length;
      else to.write(chunk);
    };
    client.on('data', pass(upstream)).on('close', () => isDead || upstream.destroy());
    upstream.on('data', pass(client)).on('close', () => isDead || client.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    get lost() {
      return lost;
    },
    swallow: () => {
      state = 'swallow';
    },
    cut: () => {
      state = 'cut';
      lost += sockets.size;
      for (const socket of sockets) socket.destroy();
      sockets.clear();
    },
    heal: () => {
      state = 'up';
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
