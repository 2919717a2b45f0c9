import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { beforeEach, expect, test } from 'vitest';
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts';
import { verifies } from '../../../../test/support/verifies.ts';
import { readJobLog } from '../../../app/job-log.ts';
import type { OperationRequest } from '../../../protocol/operations.ts';
import type { Cli } from '../cli.ts';
import { printRaw, type RawOptions } from './raw-output.ts';

let dir: string;
beforeEach(() => {
  dir = temporaryFolder();
});

/** The command, with the files of a job and nothing between. */
async function raw(files: Record<string, string | Buffer>, options: RawOptions = {}, isTTY = false): Promise<Buffer> {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(join(dir, path, '..'), { recursive: true });
    writeFileSync(join(dir, path), content);
  }
  const call = async (_: string, request: OperationRequest<'job_log'>) => ({
    agentId: 'J',
    ...(await readJobLog(dir, request, ['hunter2-hunter2'])),
  });
  const stdout = Object.assign(new PassThrough(), { isTTY });
  const printed = buffer(stdout);
  await printRaw({ host: { stdout }, client: () => ({ call }) } as unknown as Cli, 'J', options);
  stdout.end();
  return printed;
}

test('launches come in the order they were made, output before errors', async () => {
  const files = { '10/out': 'late\n', '2/out': 'early\n', '2/err': 'oops\n', '3/in': 'not ours to show' };
  expect((await raw(files)).toString()).toBe('early\noops\nlate\n');
  expect((await raw({}, { stream: 'out' })).toString()).toBe('early\nlate\n');
  expect((await raw({}, { launch: 2 })).toString()).toBe('early\noops\n');
});

verifies('A-175').test('every byte of a long stream, and exactly those of a range', async () => {
  const bytes = Buffer.from(Array.from({ length: 600_001 }, (_, n) => (n * 31 + (n >> 8)) % 256));
  expect((await raw({ '1/out': bytes })).equals(bytes)).toBe(true);
  expect((await raw({ '1/out': 'one long line '.repeat(40_000) })).length).toBe(560_000);
  expect((await raw({}, { from: 4, bytes: 9 })).toString()).toBe('long line');
  expect((await raw({}, { from: 559_990 })).toString()).toBe('long line ');
});

verifies('X-50', 'X-51').test('raw output shows no secret and does nothing to the terminal', async () => {
  const token = `ghp_${'a'.repeat(36)}`;
  const files = { '1/out': `key hunter2-hunter2\n${token}\n\u001b]0;x\u0007\n` };
  expect((await raw(files, {}, true)).toString()).toBe('key [redacted]\n[redacted]\n␛]0;x␇\n');
  expect((await raw(files)).toString()).toBe('key [redacted]\n[redacted]\n\u001b]0;x\u0007\n');
});

test('a job without files is an error', async () => {
  await expect(raw({})).rejects.toMatchObject({ code: 'no_output' });
});
