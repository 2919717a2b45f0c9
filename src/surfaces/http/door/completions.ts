import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { ErrorCode } from '../../../protocol/error-table.ts';
import { type ErrorBody, ReefError } from '../../../protocol/errors.ts';
import type { Asked, Said } from './asked.ts';

/** Answers questions to models, each in a process of its own. */
export interface Completions {
  ask(asked: Asked, signal: AbortSignal): AsyncIterable<Said>;
}

const STALL_MS = 10_000;
const QUIET_MS = 15_000;

/** The last word of an answer. What happened before it is not wanted. */
export async function resultOf(said: AsyncIterable<Said>): Promise<object> {
  let result: object = {};
  for await (const each of said) {
    if (each.type === 'failed') throw failure(each.error);
    if (each.type === 'result') result = each.value;
  }
  return result;
}

/** Server-sent events. What fails before the first of them is refused with its own status. */
export async function streamAnswer(said: AsyncIterable<Said>, response: ServerResponse, signal: AbortSignal) {
  let quiet: NodeJS.Timeout | undefined;
  try {
    for await (const each of said) {
      if (!response.headersSent) {
        if (each.type === 'failed') throw failure(each.error);
        response.writeHead(200, {
          'content-type': 'text/event-stream',
          'cache-control': 'no-store',
          'x-accel-buffering': 'no',
        });
        quiet = setInterval(() => response.writableNeedDrain || response.write(': still here\n\n'), QUIET_MS);
      }
      response.write(frame(each));
      if (response.writableNeedDrain) {
        // A process that cannot write waits, so a reader that takes nothing holds up nobody else, and not for long.
        await once(response, 'drain', { signal: AbortSignal.any([signal, AbortSignal.timeout(STALL_MS)]) });
      }
    }
    response.end();
  } catch (error) {
    if (!response.headersSent) throw error;
    response.destroy();
  } finally {
    clearInterval(quiet);
  }
}

function frame(said: Said): string {
  const { type, ...rest } = said;
  const data = said.type === 'result' ? said.value : said.type === 'failed' ? { error: said.error } : rest;
  return `event: ${type === 'failed' ? 'error' : type}\ndata: ${JSON.stringify(data)}\n\n`;
}

function failure({ code, message, details }: ErrorBody['error']): ReefError {
  return new ReefError(code as ErrorCode, message, details && { details });
}
