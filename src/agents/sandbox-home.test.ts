import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { writeFiles } from '../../test/support/repository.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { verifies } from '../../test/support/verifies.ts';
import { probeCapabilities } from '../process/capabilities.ts';
import { sandboxOptions } from '../process/sandbox.ts';
import { ownHome } from './sandbox-home.ts';

const { bubblewrap } = await probeCapabilities();

verifies('X-134')
  .needs(bubblewrap !== undefined, 'bubblewrap')
  .test('programs of PATH that are links into other folders work, and nothing beside them is shown', () => {
    const root = temporaryFolder('/var/tmp');
    const at = (name: string) => join(root, name);
    const program = '#!/bin/sh\necho here\n';
    writeFiles(root, {
      'tools/node_modules/packer/cli.sh': program,
      'opt/checker/run.sh': program,
      'opt/checker/key': '',
    });
    for (const name of ['tools/node_modules/packer/cli.sh', 'opt/checker/run.sh']) chmodSync(at(name), 0o755);
    for (const name of ['home/bin', 'tools/node_modules/.bin']) mkdirSync(at(name), { recursive: true });
    symlinkSync('../packer/cli.sh', at('tools/node_modules/.bin/packer'));
    symlinkSync(at('tools/node_modules/.bin/packer'), at('home/bin/packer'));
    symlinkSync(at('opt/checker/run.sh'), at('home/bin/checker'));
    symlinkSync(at('nowhere'), at('home/bin/gone'));

    const env = { HOME: at('home'), PATH: `${at('home/bin')}:/usr/bin:/bin` };
    const spec = { kind: 'bubblewrap' as const, network: 'host' as const, scratch: at('scratch') };
    const { options } = sandboxOptions({ ...spec, ...ownHome(env, '/bin/sh') }, '/');
    const unfiltered = options.filter((option, n) => option !== '--seccomp' && options[n - 1] !== '--seccomp');
    const line = `packer; checker; ls ${at('opt/checker')} ${at('home')}`;
    const said = execFileSync(bubblewrap ?? '', [...unfiltered, '/bin/sh', '-c', line], { env, encoding: 'utf8' });
    expect(said.split('\n')).toEqual([
      'here',
      'here',
      `${at('home')}:`,
      'bin',
      '',
      `${at('opt/checker')}:`,
      'run.sh',
      '',
    ]);
  });
