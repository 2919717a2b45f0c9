import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { disposableFolder } from '../../test/support/temporary-folder.ts';
import { printRows } from '../measure.ts';

const STARTS = 25;
const ALLOWED_MS = 5;
const FEW = '400';
const MANY = '10000';

/** how long the first word of a rendered answer waits beyond a raw one, and what a long answer keeps. */
export async function benchTerminal(): Promise<boolean> {
  using cache = disposableFolder();
  const run = (file: string, ...args: string[]) =>
    execFileSync(process.execPath, ['--expose-gc', join(import.meta.dirname, file), ...args], {
      encoding: 'utf8',
      env: { ...process.env, NODE_COMPILE_CACHE: cache.path },
    });
  const starts = Array.from({ length: STARTS }, () => JSON.parse(run('first-word.ts')));
  const fastest = (what: 'raw' | 'rendered') => Math.min(...starts.map((start) => start[what]));
  const later = fastest('rendered') - fastest('raw');
  const kept = (lines: string) => Number(run('answer-memory.ts', lines));
  kept(FEW); // compiled code, out of the cache or not, weighs as well
  return printRows('Answers at a terminal (R-162)', [
    {
      what: `first word later than raw, fastest of ${STARTS} · ${ALLOWED_MS} ms`,
      ours: later,
      theirs: ALLOWED_MS,
      unit: 'ms',
      target: { most: 1 },
    },
    {
      what: `heap in ${MANY} lines · in ${FEW}`,
      ours: kept(MANY),
      theirs: kept(FEW),
      unit: 'MB',
      target: { most: 1.25 },
    },
  ]);
}
