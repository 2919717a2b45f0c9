import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';

const WITHOUT_BODY = [204, 205, 304];

/** An answer of `node:http` as `fetch` would give it. */
export function toResponse(message: IncomingMessage): Response {
  const { statusCode = 0 } = message;
  const headers = Object.entries(message.headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  );
  const body = WITHOUT_BODY.includes(statusCode) ? null : (Readable.toWeb(message) as ReadableStream<Uint8Array>);
  return new Response(body, { status: statusCode, headers });
}
