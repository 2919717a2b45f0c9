import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { statSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startJob } from '../../test/support/programs.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { verifies } from '../../test/support/verifies.ts';
import { until } from '../../test/support/wait.ts';
import { probeCapabilities } from './capabilities.ts';
import { FifoWriter, makeFifo } from './fifo.ts';
import { endTree } from './tree.ts';

verifies('X-44').test('a FIFO is for its owner alone, whatever the umask', async () => {
  const folder = temporaryFolder();
  await makeFifo(join(folder, 'in'));
  const stat = statSync(join(folder, 'in'));
  expect([stat.isFIFO(), (stat.mode & 0o777).toString(8)]).toEqual([true, '600']);
});

test('a name that is taken is refused', async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'in'), '');
  await expect(makeFifo(join(folder, 'in'))).rejects.toMatchObject({ code: 'spawn_failed' });
  expect(() => new FifoWriter(join(folder, 'in'))).toThrow('Not a FIFO');
});

verifies('Q-36').test(
  'eight agents that never read: writing says full at once and files are read as before',
  async () => {
    const capabilities = await probeCapabilities();
    const jobs = await Promise.all(Array.from({ length: 8 }, () => startJob('never-reads.sh', capabilities)));
    const writers = jobs.map((job) => new FifoWriter(join(job.dir, 'in')));
    const answers = writers.map((writer) => {
      let taken = 0;
      while (writer.write(Buffer.alloc(4096, 'x')) === 'written') taken += 1;
      return { taken: taken > 0, next: writer.write(Buffer.from('y')), large: writer.write(Buffer.alloc(100_000)) };
    });
    // More reads than Node's pool has threads.
    const files = await Promise.all(Array.from({ length: 32 }, () => readFile(new URL(import.meta.url), 'utf8')));
    for (const writer of writers) writer.close();
    const ended = await Promise.all(jobs.map((job) => endTree(job, { graceMs: 5_000 })));
    expect({ answers, files: files.filter((text) => text.length > 0).length, ended }).toEqual({
      answers: Array(8).fill({ taken: true, next: 'full', large: 'full' }),
      files: 32,
      ended: Array(8).fill({ survivors: 0, waitedMs: expect.any(Number) }),
    });
  },
);

test('a message larger than the pipe is held and goes out before anything else', async () => {
  const folder = temporaryFolder();
  const path = join(folder, 'in');
  await makeFifo(path);
  const writer = new FifoWriter(path);
  const large = randomBytes(300_000);
  const answers = [writer.write(large), writer.write(Buffer.from('next')), writer.flush()];
  const reader = spawn('head', ['-c', String(large.length + 4), path]);
  const chunks: Buffer[] = [];
  reader.stdout.on('data', (chunk) => chunks.push(chunk));
  await until('the rest is out', () => writer.flush());
  answers.push(writer.write(Buffer.from('next')));
  await once(reader, 'close');
  writer.close();
  expect(answers).toEqual(['held', 'full', false, 'written']);
  expect(hash(Buffer.concat(chunks))).toBe(hash(Buffer.concat([large, Buffer.from('next')])));
});

test('what fits into the free space is written whole', async () => {
  const folder = temporaryFolder();
  await makeFifo(join(folder, 'in'));
  const writer = new FifoWriter(join(folder, 'in'));
  const answers = [writer.write(Buffer.alloc(0)), writer.write(Buffer.alloc(65_536)), writer.write(Buffer.alloc(1))];
  writer.close();
  expect(answers).toEqual(['written', 'written', 'full']);
});

function hash(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
