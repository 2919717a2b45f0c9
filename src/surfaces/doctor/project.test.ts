import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { makeRepository } from '../../../test/support/repository.ts';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { systemClock } from '../../base/clock.ts';
import { readEnvironment } from '../../base/env.ts';
import { reefSchema } from '../../runtime/config/reef-block.ts';
import { TrustFile, trustPath } from '../../runtime/config/trust-file.ts';
import { Project } from '../../workflow/project/project.ts';
import { examine } from './finding.ts';
import { projectChecks } from './project.ts';

const settings = () => reefSchema.parse({});
const user = temporaryFolder();
const env = readEnvironment({ HOME: user, PATH: '/usr/bin:/bin' });

verifies('U-06', 'J-11').test('doctor says what a first run needs of a repository, and when it has it', async () => {
  const repository = makeRepository({ 'a.txt': 'a\n' });
  const { checkout: root, git, plain } = repository;
  const look = async () => {
    const findings = await examine(projectChecks({ root, git, env, settings }), {
      fix: true,
    });
    return findings.map(({ check, severity, what, fix }) => [`${severity} ${check}`, what, fix?.does]);
  };
  plain('config', 'user.name', '');
  const does = 'reef init, or reef init --test "<command>"';
  const [gates, trust, checkout] = await look();
  expect([gates, trust]).toEqual([
    ['warn gates', 'no test command is known, and a run needs one', does],
    ['ok trust', 'nothing in this repository needs your trust', undefined],
  ]);
  expect(checkout?.slice(0, 2)).toEqual(['warn checkout', 'git has no name for you, and a merge needs one']);
  plain('config', 'user.name', 'Ada');
  mkdirSync(join(root, '.reef'));
  writeFileSync(join(root, '.reef/config.yaml'), 'reef: { gates: { test: [sh, test.sh], lint: [sh, lint.sh] } }\n');
  repository.write('a.txt', 'changed\n');
  expect(await look()).toEqual([
    ['ok gates', 'test, lint', undefined],
    ['warn trust', 'not trusted yet: .reef/config.yaml', 'reef trust'],
    ['ok checkout', '1 files have uncommitted changes, which a run does not see', undefined],
  ]);
  const project = new Project({ root, trust: new TrustFile(trustPath(env)), clock: systemClock });
  const { items } = await project.trust({ hashes: [] }, { by: 'me', surface: 'cli' });
  await project.trust({ hashes: items.map(({ hash }) => hash) }, { by: 'me', surface: 'cli' });
  expect((await look())[1]).toEqual(['ok trust', '.reef/config.yaml', undefined]);
  const programs = 'gates: { test: [no-such-runner] }';
  writeFileSync(join(root, '.reef/config.yaml'), `reef: { ${programs} }\n`);
  expect((await look())[0]?.slice(0, 2)).toEqual(['warn gates', 'test needs no-such-runner, which is not on PATH']);
  writeFileSync(join(root, '.reef/config.yaml'), `reef: { ${programs}, worktree: { setup: [sh, install.sh] } }\n`);
  expect((await look())[0]?.slice(0, 2)).toEqual(['ok gates', 'test']); // the set-up may bring it
  writeFileSync(join(root, '.reef/config.yaml'), `reef: { ${programs}, worktree: { setup: [no-such-manager] } }\n`);
  expect((await look())[0]?.slice(0, 2)).toEqual([
    'warn gates',
    'the set-up needs no-such-manager, which is not on PATH',
  ]);
  writeFileSync(join(root, '.reef/config.yaml'), 'reef: { gates: 7 }\n');
  expect((await look())[0]?.slice(0, 2)).toEqual(['error gates', 'the check failed']);
});
