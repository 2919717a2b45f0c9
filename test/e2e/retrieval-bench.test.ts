import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect } from 'vitest';
import { ROOT } from '../support/source-files.ts';
import { verifies } from '../support/verifies.ts';

verifies('C-142').test(
  'without a repository the bench asks about fixes of a generated one, and shows Reef beside plain BM25 at three budgets',
  () => {
    const args = [join(ROOT, 'bench/retrieval/main.ts'), '--questions', '4'];
    const env = { ...process.env, REEF_BENCH_REPOS: '' };
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8', env });
    const rows = stdout.split('\n').flatMap((line) => {
      const [, budget, system, file, named, body] =
        /^ +(\d+) {2}(.+?) +(\d\.\d\d) +(\d\.\d\d) +(\d\.\d\d) /.exec(line) ?? [];
      return budget === undefined ? [] : [[budget, system, file, named, body]];
    });
    const all = ['1.00', '1.00', '1.00']; // of so small a repository
    expect([status, stderr]).toEqual([0, '']);
    expect(rows.filter(([, system]) => system === 'reef')).toEqual(
      ['2000', '4000', '8000'].map((budget) => [budget, 'reef', ...all]),
    );
    expect(rows.filter(([, system]) => system === 'plain BM25 over functions')).toHaveLength(3);
  },
  120_000,
);
