import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect } from 'vitest';
import { ROOT } from '../support/source-files.ts';
import { verifies } from '../support/verifies.ts';

/** The whole shipped set through every strategy and a real repository per run: a minute or two. */
verifies('S-62', 'S-63').test(
  'on the shipped set every promise about cost, recall, size and truth is kept',
  () => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [join(ROOT, 'bench/context/main.ts'), '--check'], {
      cwd: ROOT,
      encoding: 'utf8',
    });
    expect([status, stderr, stdout.trimEnd().endsWith('all promises kept')]).toEqual([0, '', true]);
  },
  600_000,
);
