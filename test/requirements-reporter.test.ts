import { spawnSync } from 'node:child_process';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from './support/source-files.ts';
import { temporaryFolder } from './support/temporary-folder.ts';
import { verifies } from './support/verifies.ts';

/** Runs vitest on a small project whose ledger says that are done. */
function runProject(tests: string, args: string[] = []) {
  const folder = temporaryFolder();
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const row = { page: 'reliability', from: '+', says: 'it holds', status: 'done' };
  const rows = [
    ['Q-01', row],
    ['Q-02', row],
    ['Q-03', { ...row, needs: ['bubblewrap'] }],
  ];
  writeFileSync(
    join(folder, 'vitest.config.ts'),
    `import Reporter from '${ROOT}test/requirements-reporter.ts';
    const reporter = new Reporter(${JSON.stringify(rows)}, new URL('file://${folder}/coverage/run.json'));
    export default { test: { reporters: [reporter], include: ['*.test.ts'] } };`,
  );
  writeFileSync(join(folder, 'other.test.ts'), `import { test } from 'vitest';\ntest('plain', () => {});\n`);
  writeFileSync(join(folder, 'a.test.ts'), `import { verifies } from '${ROOT}test/support/verifies.ts';\n${tests}`);
  const env = { ...process.env, REEF_TIER: 'test' };
  const { status, stdout } = spawnSync('node_modules/.bin/vitest', ['run', ...args], {
    cwd: folder,
    env,
    encoding: 'utf8',
  });
  const lines = stdout.trimEnd().split('\n');
  const evidence = () => JSON.parse(readFileSync(join(folder, 'coverage/run.json'), 'utf8'));
  return { status, lines, evidence };
}

const allProved = `verifies('Q-01').test('a', () => {});
verifies('Q-02').test('b', () => {});
verifies('Q-03').needs(false, 'bubblewrap is not installed').test('c', () => { throw new Error('it ran'); });
`;

verifies('Q-97').test('a run that proves what is done ends well, with its totals on the last line', () => {
  const { status, lines, evidence } = runProject(allProved);
  expect({ status, lines, evidence: evidence() }).toEqual({
    status: 0,
    lines: [
      'requirements       done     todo unproved',
      'reliability           3        0        1',
      'all                   3        0        1',
      'unproved, bubblewrap is not installed: Q-03',
      '',
      '3 passed, 0 failed, 1 skipped',
    ],
    evidence: {
      tier: 'test',
      full: true,
      evidence: {
        'Q-01': { passed: 1, failed: 0, missing: [] },
        'Q-02': { passed: 1, failed: 0, missing: [] },
        'Q-03': { passed: 0, failed: 0, missing: ['bubblewrap is not installed'] },
      },
    },
  });
});

verifies('Q-97').test('a full run fails when a done id had no passing test', () => {
  const { status, lines } = runProject(allProved.replace('Q-02', 'Q-04'));
  expect({ status, fails: lines.filter((line) => line.startsWith('FAIL')) }).toEqual({
    status: 1,
    fails: ['FAIL Q-02 is done but no test of tier test proved it'],
  });
});

verifies('Q-97').test('a filtered run owes nothing to the ledger', () => {
  const { status, lines } = runProject(allProved, ['other']);
  expect({ status, lines }).toEqual({ status: 0, lines: ['', '1 passed, 0 failed, 0 skipped'] });
});

verifies('Q-97').test('a file that does not load counts as a failure', () => {
  const { status, lines } = runProject(`throw new Error('broken');`);
  expect({ status, last: lines.slice(-3) }).toEqual({
    status: 1,
    last: ['FAIL a.test.ts: broken', '', '1 passed, 1 failed, 0 skipped'],
  });
});

test('what failed is named at the end, with the first line of why', () => {
  const { lines } = runProject(allProved.replace('() => {}', "() => { throw new Error('no\\nand more'); }"));
  expect(lines.slice(-4)).toEqual([
    'FAIL Q-01 is done but no test of tier test proved it',
    'FAIL a.test.ts > a [Q-01]: no',
    '',
    '2 passed, 1 failed, 1 skipped',
  ]);
});
