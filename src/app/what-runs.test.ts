import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { makeRepository } from '../../test/support/repository.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { verifies } from '../../test/support/verifies.ts';
import { readEnvironment } from '../base/env.ts';
import { probeCapabilities } from '../process/capabilities.ts';
import { reefSchema } from '../runtime/config/reef-block.ts';
import { lackWords, missingPrograms, type RunCommand } from './what-runs.ts';

const { bubblewrap } = await probeCapabilities();

function makeProgram(folder: string, name: string, interpreter = '/bin/sh'): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, name), `#!${interpreter}\n`);
  chmodSync(join(folder, name), 0o755);
}

function place(files: Record<string, string>, path = '') {
  const home = temporaryFolder();
  const { checkout: root, git } = makeRepository(files);
  const bin = join(home, 'bin');
  makeProgram(bin, 'fish');
  const env = readEnvironment({ HOME: home, PATH: `/usr/bin:/bin:${bin}${path && `:${join(home, path)}`}` });
  const look = (commands: RunCommand[], config: object = { sandbox: 'off' }) =>
    missingPrograms(commands, { root, git, env, settings: reefSchema.parse(config) });
  return { root, home, look };
}

const test = (...command: string[]): RunCommand => ({ of: 'test', command });

verifies('J-11').test(
  'before the set-up only its own program is looked for; without one, those of the gates',
  async () => {
    const { look } = place({});
    const setup = (program: string) => ({ of: 'set-up', command: [program, 'install'] });
    expect(await look([test('whale')])).toEqual([{ of: 'test', program: 'whale', from: 'path' }]);
    expect(await look([test('fish')])).toEqual([]);
    expect(await look([setup('fish'), test('whale')])).toEqual([]); // the set-up may bring it
    expect(await look([setup('whale'), test('fish')])).toEqual([{ of: 'set-up', program: 'whale', from: 'path' }]);
  },
);

verifies('J-11').test('a program of the repository is there if it is committed, where the command runs', async () => {
  const { root, look } = place({ 'run-tests': '#!/bin/sh\n', 'crate/check': '#!/bin/sh\n' });
  makeProgram(root, 'new-tests');
  expect(await look([test('./run-tests'), test('/bin/sh'), { ...test('./check'), folder: 'crate' }])).toEqual([]);
  const lacking = await look([test('./new-tests'), test('./none')]);
  expect(lacking.map(({ program, from }) => [program, from])).toEqual([
    ['./new-tests', 'commit'],
    ['./none', 'path'],
  ]);
  expect(lackWords(lacking[0] as (typeof lacking)[0])).toEqual({
    what: 'test needs ./new-tests, which is not committed',
    does: 'git add ./new-tests and commit it',
  });
});

verifies('J-11')
  .needs(bubblewrap !== undefined, 'bubblewrap')
  .test('a program that the sandbox hides is missing, unless the configuration shows it', async () => {
    const { home, look } = place({}, 'tools');
    const interpreter = join(home, 'opt', 'interpreter');
    makeProgram(join(home, 'opt'), 'interpreter');
    makeProgram(join(home, 'tools'), 'whale', interpreter);
    expect(await look([test('fish'), test('whale')])).toEqual([]);
    const lacking = await look([test('fish'), test('whale')], {});
    expect(lacking).toEqual([{ of: 'test', program: 'whale', from: 'sandbox' }]);
    expect(await look([test('whale')], { sandbox: { read: [join(home, 'opt')] } })).toEqual([]);
  });
