import { createWriteStream, type WriteStream } from 'node:fs';
import type { Readable } from 'node:stream';
import type { Redact } from '../../../base/redact.ts';

const TAIL_LINES = 20;
/** A longer line is written in pieces of this size. */
const LONGEST_LINE = 16 * 1024;

export interface ServerLog {
  /** The last lines the server wrote, for the message of an error. */
  tail(): string;
}

/** What a server writes to stderr, line by line and redacted: the tail is kept, all of it goes to the file if there is one. */
export function followLog(stderr: Readable, redact: Redact, path: string | undefined): ServerLog {
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
  return { tail: () => [...lines, ...(rest.trim() === '' ? [] : [redact(rest)])].join('\n') };
}

/** A log that cannot be written is no reason to lose the server. */
function openLog(path: string): WriteStream {
  const file = createWriteStream(path, { flags: 'a', mode: 0o600 });
  file.on('error', () => {});
  return file;
}
