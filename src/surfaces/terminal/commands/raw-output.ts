import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { LineReader } from '../../../base/line-reader.ts';
import { printable } from '../../../base/printable.ts';
import { createRedactor, type Redact } from '../../../base/redact.ts';
import { ReefError } from '../../../protocol/errors.ts';
import { secretsOf } from '../../../runtime/config/user-config.ts';
import type { Cli } from '../cli.ts';

const BATCH_LINES = 1_000;
const BATCH_BYTES = 1_048_576;

/** Prints what the agent itself wrote, launch by launch, without secrets and without control characters. */
export async function printRaw(cli: Cli, jobId: string): Promise<void> {
  const folder = join(cli.home().dir, 'jobs', jobId);
  const launches = (await readdir(folder).catch(() => [])).filter((name) => /^\d+$/.test(name));
  if (launches.length === 0) throw new ReefError('job_not_found', `${folder} has no output of an agent`);
  const redact = createRedactor(secretsOf(cli.env));
  for (const launch of launches.sort((a, b) => Number(a) - Number(b))) {
    for (const stream of ['out', 'err']) await printFile(cli, join(folder, launch, stream), redact);
  }
}

async function printFile(cli: Cli, path: string, redact: Redact): Promise<void> {
  const reader = new LineReader({ path, offset: 0 });
  try {
    for (;;) {
      const lines = await reader.readBatch(BATCH_LINES, BATCH_BYTES);
      for (const { text } of lines) cli.out(printable(redact(text)));
      if (lines.length > 0) continue;
      const rest = reader.finish();
      if (rest) cli.out(printable(redact(rest.text)));
      return;
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  } finally {
    await reader.close();
  }
}
