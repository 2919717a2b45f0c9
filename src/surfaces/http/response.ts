import type { ServerResponse } from 'node:http';
import { errorTable } from '../../protocol/error-table.ts';
import { ReefError } from '../../protocol/errors.ts';

export function respond(response: ServerResponse, status: number, body: unknown): void {
  const json = JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(json),
    'cache-control': 'no-store',
  });
  response.end(json);
}

export function refuse(response: ServerResponse, error: ReefError): void {
  if (!response.destroyed) respond(response, errorTable[error.code].status, error.toBody());
}

/** Aborted when the client leaves before it has its answer, or when the server closes. */
export function untilGone(response: ServerResponse, closing: AbortSignal): AbortSignal {
  const gone = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) gone.abort(new ReefError('daemon_unavailable', 'The caller went away'));
  });
  return AbortSignal.any([gone.signal, closing]);
}
