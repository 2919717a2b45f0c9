import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts';
import { verifies } from '../../../../test/support/verifies.ts';
import { readEnvironment } from '../../../base/env.ts';
import { homeAt } from '../../../base/home.ts';
import type { Cli } from '../cli.ts';
import { printRaw } from './raw-output.ts';

let dir: string;
beforeEach(() => {
  dir = temporaryFolder();
});

async function raw(files: Record<string, string>): Promise<string[]> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(join(dir, 'jobs', 'J', path, '..'), { recursive: true });
    await writeFile(join(dir, 'jobs', 'J', path), content);
  }
  const lines: string[] = [];
  const env = readEnvironment({ MY_API_KEY: 'hunter2-hunter2' });
  await printRaw(
    { env, home: () => homeAt(dir, env), out: (line: string) => void lines.push(line) } as unknown as Cli,
    'J',
  );
  return lines;
}

test('launches come in the order they were made, output before errors', async () => {
  expect(
    await raw({
      '10/out': 'late\n',
      '2/out': 'early\n',
      '2/err': 'oops',
      'question.json': 'no launch',
      '3/in': 'not ours to show',
    }),
  ).toEqual(['early', 'oops', 'late']);
});

verifies('X-50', 'X-51').test('raw output shows no secret and does nothing to the terminal', async () => {
  const token = `ghp_${'a'.repeat(36)}`;
  expect(await raw({ '1/out': `key hunter2-hunter2\n${token}\n\u001b]0;x\u0007\n` })).toEqual([
    'key [redacted]',
    '[redacted]',
    '␛]0;x␇',
  ]);
});

test('a job without files is an error', async () => {
  await expect(raw({})).rejects.toMatchObject({ code: 'job_not_found' });
});
