import { createConnection, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { firstLine, TAKEN } from './first-line.ts';
import type { Hello } from './tree-socket.ts';

/** The context is closed before its process ends; the daemon waits 5 s. */
const CLOSING_MS = 4_000;
const LOOK_MS = 25;

interface Streams {
  input: NodeJS.ReadableStream;
  output: NodeJS.WritableStream;
}

/**
 * A child whose parent is one of Reef's own agents is only a pair of pipes: its context lives in the process of its root, with
 * the servers and indexes of that process. To the daemon it is a job with a process like any other; when either side dies the
 * other sees its connection end. `refused` when no process took it within `patienceMs`, `deaf` when one took it and would not
 * let it go.
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

function connectedOnce(path: string): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = createConnection({ path });
    socket.once('connect', () => resolve(socket));
    socket.once('error', () => resolve(undefined));
  });
}
