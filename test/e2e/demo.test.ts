import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { COMPILED } from '../support/compile-cache.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { verifies } from '../support/verifies.ts';
import { firstLie, shownAfter } from './transcript.ts';

const REEF = join(import.meta.dirname, '..', '..', 'bin', 'reef.cjs');
const run = promisify(execFile);
const home = temporaryFolder();

verifies('W-66', 'T-20', 'T-23', 'U-41').test(
  'the demo mends the failing test by a workflow, lets the clashing run wait, survives kill -9 and merges all three',
  async () => {
    const env = { PATH: process.env.PATH ?? '', HOME: home, NODE_COMPILE_CACHE: COMPILED, TMPDIR: home };
    const { stdout } = await run(process.execPath, [REEF, 'demo'], { cwd: home, env, timeout: 290_000 });
    for (const line of [
      /queued: it waits for \w+ \(tax\.mjs\)/,
      /The question is still in the inbox\./,
      /RunTests failure, exit code 1[\s\S]+FixCode success[\s\S]+RunTests success/,
      /tokens per turn {2}[▁-█]{10,} {2}at most \d+/,
      /events from two daemons, none lost, none twice\./,
      /Next, in a repository of your own:\n {2}npm link .*\n {2}reef run .*\n {2}reef doctor /,
    ]) {
      expect(stdout).toMatch(line);
    }
    const readme = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8');
    expect(firstLie(['…', ...shownAfter(readme, 'npm run demo'), '…'], stdout)).toBe(undefined);
    const [, log = ''] = stdout.split('$ git log');
    const subjects = [...log.matchAll(/^[0-9a-f]{7,} (.+)$/gm)].map(([, subject]) => subject);
    expect(subjects.slice(0, 3).sort()).toEqual([
      'Make the failing test pass',
      'Support a rate of zero',
      'release notes',
    ]);
    // What it says at its beginning and its end leads to its page.
    expect(stdout.slice(0, stdout.indexOf('$ reef trust'))).toMatch(
      /^ {2}http:\/\/127\.0\.0\.1:\d+\/#code=[0-9a-f]{32}$/m,
    );
    const again = /To look at all of it again:\n {2}(cd .+) open$/m.exec(stdout)?.[1] ?? '';
    const reef = (words: string) => run('sh', ['-c', `${again} ${words}`], { cwd: home, env, timeout: 60_000 });
    const ended = JSON.parse((await reef('runs --all --json')).stdout).runs;
    expect(ended.map(({ merge }: { merge: string }) => merge)).toEqual(['merged', 'merged']);
    expect(JSON.parse((await reef('open --json')).stdout).page).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#code=/);
    await reef('daemon stop');
    expect(subjects.indexOf('Support a rate of zero')).toBeLessThan(subjects.indexOf('Make the failing test pass'));
  },
  300_000,
);
