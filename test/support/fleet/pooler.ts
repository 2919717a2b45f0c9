import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, createServer, type Socket } from 'node:net';

/** `Z`: the server is ready, and says whether a transaction is open. */
const READY = 0x5a;
const IDLE = 0x49;

/** What PgBouncer does in transaction mode: clients share one session of the server, which they lose after each transaction. */
export async function startPooler(port: number): Promise<{ port: number; transactions(): number } & AsyncDisposable> {
  const sockets = new Set<Socket>();
  let turn = Promise.resolve();
  let transactions = 0;
  const server = createServer((client) => {
    sockets.add(client.on('error', () => undefined));
    client.once('data', (startup) => {
      const upstream = connect(port, '127.0.0.1').on('error', () => undefined);
      sockets.add(upstream);
      upstream.write(startup);
      let isFirst = true;
      let end = () => {};
      upstream.on('data', (chunk) => {
        client.write(isFirst ? withOwnKey(chunk) : chunk);
        isFirst = false;
        if (chunk.at(-6) !== READY || chunk.at(-1) !== IDLE) return;
        transactions++;
        end();
      });
      client.on('data', (chunk) => {
        turn = turn.then(async () => {
          const ended = new Promise<void>((resolve) => {
            end = resolve;
          });
          upstream.write(chunk);
          await Promise.race([ended, once(client, 'close')]);
        });
      });
      client.on('close', () => upstream.destroy());
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    transactions: () => transactions,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A pooler answers log-ins itself, with a cancel key of its own. */
function withOwnKey(chunk: Buffer): Buffer {
  const copy = Buffer.from(chunk);
  for (let at = 0; at + 5 <= copy.length; at += 1 + copy.readInt32BE(at + 1)) {
    if (copy[at] === 0x4b) copy.writeInt32BE(123_456_789, at + 5);
  }
  return copy;
}
