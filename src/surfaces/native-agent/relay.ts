import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { firstLine, TAKEN } from './first-line.ts';
import type { Hello } from './tree-socket.ts';

/** The daemon kills the process 5 s after SIGTERM. */
const CLOSING_MS = 4_000;
const LOOK_MS = 25;

interface Streams {
  input: NodeJS.ReadableStream;
  output: NodeJS.WritableStream;
}

/**
 * Relays between the daemon and the process of the root, where the agent's context runs and shares its servers and indexes. When
 * either side dies, the other sees its connection end. `refused`: no process accepted the job within `patienceMs`. `deaf`: one
 * did, and did not let it end.
 */
export async function relay(
  path: string,
  hello: Hello,
  { input, output, patienceMs = 0 }: Streams & { patienceMs?: number },
): Promise<'refused' | 'over' | 'deaf'> {
  const socket = await connected(path, patienceMs);
  if (!socket) return 'refused';
  socket.write(`${JSON.stringify(hello)}\n`);
  if ((await firstLine(socket)) !== TAKEN) {
    socket.destroy();
    return 'refused';
  }
  const over = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  socket.on('error', () => {}); // `close` follows
  socket.pipe(output);
  input.pipe(socket);
  let isDeaf = false;
  process.once('SIGTERM', () => {
    socket.end();
    setTimeout(() => {
      isDeaf = true;
      socket.destroy();
    }, CLOSING_MS).unref();
  });
  await over;
  return isDeaf ? 'deaf' : 'over';
}

async function connected(path: string, patienceMs: number): Promise<Socket | undefined> {
  const deadline = Date.now() + patienceMs;
  for (;;) {
    const socket = await connectedOnce(path);
    if (socket || Date.now() >= deadline) return socket;
    await sleep(LOOK_MS);
  }
}

async function connectedOnce(path: string): Promise<Socket | undefined> {
  const socket = createConnection({ path });
  const connected = await once(socket, 'connect').catch(() => undefined);
  return connected && socket;
}
