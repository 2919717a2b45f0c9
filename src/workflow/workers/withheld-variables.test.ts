import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { probeCapabilities } from '../../process/capabilities.ts';
import { boundGates } from './bound-gates.ts';
import { namingWithheld } from './withheld-variables.ts';

const capabilities = await probeCapabilities();
const shell = { PATH: process.env.PATH ?? '', NPM_TOKEN: 's3cret', OTHER_TOKEN: 's3cret' };

async function run(script: string, more: { cwd?: string; output?: 'together' | 'apart'; env?: object } = {}) {
  const { cwd = temporaryFolder(), output = 'apart', env = {} } = more;
  const runGate = namingWithheld(boundGates({ capabilities }), shell);
  const { stdout, stderr } = await runGate({
    file: 'sh',
    args: ['-c', script],
    cwd,
    env: { PATH: shell.PATH, ...env },
    timeoutMs: 60_000,
    output,
    abort: new AbortController().signal,
  });
  return { stdout: stdout.toString(), stderr: stderr.toString() };
}

verifies('J-12').test(
  'a variable that was withheld and that a failure speaks of is named, its value is not',
  async () => {
    const { stderr, stdout } = await run('echo "Failed to replace env in config: NPM_TOKEN"; exit 1');
    expect(stderr).toContain('pass_env: [NPM_TOKEN]');
    expect(`${stdout}${stderr}`).not.toContain('s3cret');
    const together = await run('echo "NPM_TOKEN is not set"; exit 1', { output: 'together' });
    expect(together.stdout).toContain('pass_env: [NPM_TOKEN]');
  },
);

verifies('J-12').test('so is one that only the .npmrc of the project speaks of', async () => {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, '.npmrc'), ['//registry.example/:_authToken=$', '{NPM_TOKEN}'].join(''));
  expect((await run('echo 401; exit 1', { cwd })).stderr).toContain('pass_env: [NPM_TOKEN]');
});

verifies('J-12').test('nothing is said of a success, of what was passed, or of what nobody has', async () => {
  const said = await Promise.all([
    run('echo NPM_TOKEN'),
    run('echo NPM_TOKEN; exit 1', { env: { NPM_TOKEN: 's3cret' } }),
    run('echo NO_SUCH_THING; exit 1'),
  ]);
  expect(said.map(({ stderr }) => stderr)).toEqual(['', '', '']);
});
