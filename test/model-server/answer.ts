import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Turn } from './script.ts';
import type { Failure, Reply, WireFormat } from './wire.ts';

/** A pause of a closed server keeps no process alive. */
const pause = (milliseconds: number) => sleep(milliseconds, undefined, { ref: false });

export function sendJson(out: ServerResponse, status: number, body: unknown): void {
  out.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

export function sendFailure(out: ServerResponse, format: WireFormat, failure: Failure): void {
  if (failure.retryAfter !== undefined) out.setHeader('retry-after', String(failure.retryAfter));
  sendJson(out, failure.status, format.failure(failure));
}

/** Resolves once the bytes are with the kernel: a cut must come after them, not in their place. */
function write(out: ServerResponse, text: string): Promise<void> {
  return new Promise((resolve) => out.write(text, () => resolve()));
}

async function stream(out: ServerResponse, frames: string[], turn: Turn): Promise<void> {
  out.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  for (const [n, text] of frames.entries()) {
    if (out.destroyed) return;
    if (n > 0 && turn.chunkMs !== undefined) await pause(turn.chunkMs);
    await write(out, text);
  }
}

/** Sends the reply with the faults that the turn asks for. A hanging answer is ended by the client or by the server's close. */
export async function sendReply(
  out: ServerResponse,
  plan: { format: WireFormat; reply: Reply; turn: Turn; isStream: boolean },
) {
  const { format, reply, turn, isStream } = plan;
  if (turn.delayMs !== undefined) await pause(turn.delayMs);
  if (turn.cutAfter === 0 || (turn.cutAfter !== undefined && !isStream)) {
    out.destroy();
    return;
  }
  if (!isStream) {
    if (turn.streamError !== undefined) sendFailure(out, format, { status: 500, message: turn.streamError });
    else if (turn.hang !== true) sendJson(out, 200, format.plain(reply));
    return;
  }
  const { content, end } = format.frames(reply);
  if (turn.cutAfter !== undefined) {
    await stream(out, [...content, ...end].slice(0, turn.cutAfter), turn);
    out.destroy();
  } else if (turn.hang === true) {
    await stream(out, content, turn);
  } else {
    await stream(
      out,
      turn.streamError === undefined ? [...content, ...end] : [...content, format.brokenFrame(turn.streamError)],
      turn,
    );
    out.end();
  }
}
