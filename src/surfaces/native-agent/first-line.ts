import type { Socket } from 'node:net';

/** The answer to a child that is accepted. Not in tree-socket.ts: a process that only relays need not load zod. */
export const TAKEN = 'taken';
const MOST_BYTES = 64 * 1024;
const PATIENCE_MS = 10_000;

/** Reads the first line of a connection and leaves the rest in the stream. Undefined if none comes. */
export function firstLine(socket: Socket): Promise<string | undefined> {
  return new Promise((resolve) => {
    let read = Buffer.alloc(0);
    const end = (line: string | undefined) => {
      socket.setTimeout(0);
      socket.off('data', take).off('close', close).off('timeout', close).pause();
      resolve(line);
    };
    const close = () => end(undefined);
    const take = (bytes: Buffer) => {
      read = Buffer.concat([read, bytes]);
      const at = read.indexOf(0x0a);
      if (at < 0 && read.length < MOST_BYTES) return;
      end(at < 0 ? undefined : read.toString('utf8', 0, at));
      if (at >= 0 && at + 1 < read.length) socket.unshift(read.subarray(at + 1));
    };
    socket.setTimeout(PATIENCE_MS);
    socket.on('data', take).on('close', close).on('timeout', close);
  });
}
