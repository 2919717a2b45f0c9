import { createWriteStream, type WriteStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { systemClock } from '../base/clock.ts';
import type { Redact } from '../base/redact.ts';
import { settledWithin } from '../base/wait.ts';
import type { BoundProcess } from '../process/bound.ts';

const TAIL_LINES = 20;
const TAIL_CHARACTERS = 4_096;
/** A longer line is written in pieces of this size. */
const LONGEST_LINE = 16 * 1024;
/** How long a server that closed its output is given to end, and its last lines to arrive after that. */
const EXIT_WAIT_MS = 1_500;
const WORDS_WAIT_MS = 500;

export interface ServerLog {
  /** The last lines the server wrote to its error output. */
  tail(): string;
}

interface LogOptions {
  redact?: Redact;
  /** Everything goes to this file as well. */
  path?: string | undefined;
}

/** Keeps the end of what a server writes to its error output. */
export function followLog(stderr: Readable, { redact = (text) => text, path }: LogOptions = {}): ServerLog {
  const file = path === undefined ? undefined : openLog(path);
  const lines: string[] = [];
  let rest = '';
  const keep = (line: string) => {
    const shown = redact(line);
    file?.write(`${shown}\n`);
    if (shown.trim() !== '' && lines.push(shown) > TAIL_LINES) lines.shift();
  };
  stderr.setEncoding('utf8');
  stderr.on('data', (chunk: string) => {
    const parts = (rest + chunk).split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts) keep(part);
    for (; rest.length > LONGEST_LINE; rest = rest.slice(LONGEST_LINE)) keep(rest.slice(0, LONGEST_LINE));
  });
  stderr.on('error', () => {}); // the end of the process is told elsewhere
  stderr.once('close', () => {
    if (rest !== '') keep(rest);
    rest = '';
    file?.end();
  });
  return {
    tail: () => [...lines, ...(rest.trim() === '' ? [] : [redact(rest)])].join('\n').slice(-TAIL_CHARACTERS),
  };
}

/** A log that cannot be written is no reason to lose the server. */
function openLog(path: string): WriteStream {
  const file = createWriteStream(path, { flags: 'a', mode: 0o600 });
  file.on('error', () => {});
  return file;
}

/** How a server ended and what it said last, both of which may still be on their way. */
export async function lastWords(
  { exited, stderr }: Pick<BoundProcess, 'exited' | 'stderr'>,
  log: ServerLog,
): Promise<{ how: string; said: string }> {
  const ended = await settledWithin(systemClock, EXIT_WAIT_MS, exited);
  if (!ended) return { how: 'it closed its output', said: log.tail() };
  await settledWithin(systemClock, WORDS_WAIT_MS, finished(stderr)).catch(() => {});
  return { how: `it ended with ${ended.signal ?? `code ${ended.code}`}`, said: log.tail() };
}
