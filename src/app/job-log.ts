import { isUtf8 } from 'node:buffer';
import { constants } from 'node:fs';
import { type FileHandle, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { findSecrets, MARK, type Span } from '../base/redact.ts';
import { ReefError } from '../protocol/errors.ts';
import type { OperationRequest } from '../protocol/operations.ts';
import type { JobLog } from '../protocol/record-operations.ts';

/** What is read before and after a range, to see a secret of which only a part lies in it. */
const AROUND = 16_384;
/** Does not follow a link in the place of the file, and does not wait for a FIFO. */
const READ_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

type Asked = Pick<OperationRequest<'job_log'>, 'stream' | 'launch' | 'from' | 'bytes'>;

/** A range of what a job wrote, from the files in its folder. */
export async function readJobLog(
  folder: string,
  asked: Asked,
  secrets: readonly string[],
): Promise<Omit<JobLog, 'agentId'>> {
  const launches = await launchesIn(folder);
  const launch = asked.launch ?? launches.at(-1);
  if (launch === undefined || !launches.includes(launch)) {
    const there = launches.length === 0 ? '' : ` Launches: ${launches.join(', ')}.`;
    throw new ReefError(
      'no_output',
      `${launch === undefined ? 'The job' : `Launch ${launch}`} has left no output.${there}`,
    );
  }
  const range = await readRange(join(folder, String(launch), asked.stream), asked, secrets);
  return { launches, launch, ...range };
}

async function launchesIn(folder: string): Promise<number[]> {
  const names = await readdir(folder).catch(() => []);
  return names
    .filter((name) => /^\d{1,9}$/.test(name))
    .map(Number)
    .sort((a, b) => a - b);
}

type Range = Pick<JobLog, 'text' | 'encoding' | 'from' | 'next' | 'size'>;

async function readRange(path: string, { from, bytes }: Asked, secrets: readonly string[]): Promise<Range> {
  const file = await open(path, READ_FLAGS).catch(ifAbsent);
  if (!file) return { text: '', encoding: 'utf8', from: 0, next: 0, size: 0 };
  try {
    const { size } = await file.stat();
    const first = from < 0 ? Math.max(0, size + from) : Math.min(from, size);
    const at = Math.max(0, first - AROUND);
    const seen = await readAt(file, at, Math.min(size, first + bytes + AROUND) - at);
    const spans = findSecrets(secrets, seen);
    const start = startOf(seen, first - at);
    const end = endOf(seen, spans, Math.min(seen.length, first - at + bytes));
    const shown = withMarks(seen, spans, [start, end]);
    const isText = isUtf8(shown);
    return {
      text: shown.toString(isText ? 'utf8' : 'base64'),
      encoding: isText ? 'utf8' : 'base64',
      from: at + start,
      next: at + end,
      size,
    };
  } finally {
    await file.close();
  }
}

function ifAbsent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await file.read(buffer, filled, length - filled, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}

/** A character has at most three bytes after its first. */
const MOST_CONTINUED = 3;
const isContinued = (byte: number | undefined) => byte !== undefined && (byte & 0xc0) === 0x80;

/** The beginning of the character at this byte. Bytes that are no text stay where they are. */
function startOf(seen: Buffer, at: number): number {
  let start = at;
  while (at - start < MOST_CONTINUED && start > 0 && isContinued(seen[start])) start -= 1;
  return isContinued(seen[start]) ? at : start;
}

/** The end of the character, and of the secret, that this byte cuts. */
function endOf(seen: Buffer, spans: readonly Span[], at: number): number {
  const [, cut] = spans.findLast(([start, end]) => start < at && at < end) ?? [];
  if (cut !== undefined) return endOf(seen, spans, cut);
  let end = at;
  while (end - at < MOST_CONTINUED && end < seen.length && isContinued(seen[end])) end += 1;
  return isContinued(seen[end]) ? at : end;
}

function withMarks(seen: Buffer, spans: readonly Span[], [from, to]: Span): Buffer {
  const parts: Buffer[] = [];
  let done = from;
  for (const [start, end] of spans) {
    if (end <= done || start >= to) continue;
    if (start >= done || parts.length === 0) parts.push(seen.subarray(done, Math.max(done, start)), Buffer.from(MARK));
    done = Math.max(done, end);
  }
  parts.push(seen.subarray(done, Math.max(done, to)));
  return Buffer.concat(parts);
}
