import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { ROOT } from '../../../test/support/source-files.ts';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { findOnPath } from '../../base/programs.ts';
import { UNIT, unitText, writeUnit } from './unit.ts';

const home = temporaryFolder();
const run = promisify(execFile);

async function reef(...args: string[]) {
  const env = { PATH: process.env.PATH, HOME: home, NO_COLOR: '1' };
  return run(process.execPath, [join(ROOT, 'bin/reef.cjs'), 'worker', 'install', ...args, '--json'], { cwd: home, env })
    .catch((error: { stdout: string }) => error)
    .then(({ stdout }) => JSON.parse(stdout));
}

verifies('F-45').test(
  'reef worker install shows the unit it would write, and refuses what a unit could not use',
  async () => {
    const address = join(home, 'app 100%.url');
    writeFileSync(address, 'postgres://reef_app:secret@localhost/reef', { mode: 0o600 });
    const { unit } = await reef(
      '--print',
      '--database-url-file',
      'app 100%.url',
      '--slots',
      '8',
      '--label',
      'os=linux',
    );
    const started = `"${process.execPath}" "${join(ROOT, 'bin/reef.cjs')}" "worker" "--database-url-file" "${join(home, 'app 100%%.url')}" "--label" "os=linux" "--slots" "8"`;
    expect(unit.split('\n')).toEqual(
      expect.arrayContaining([
        ...[
          `ExecStart=${started}`,
          'Restart=always',
          'RestartSec=1',
          'RestartPreventExitStatus=0 78',
          'KillMode=process',
        ],
        ...['StartLimitIntervalSec=0', 'WantedBy=default.target'],
      ]),
    );
    expect(unit).not.toContain('secret');
    expect(await reef('--print')).toMatchObject({
      error: { code: 'bad_request', message: expect.stringContaining('--database-url-file') },
    });
    writeFileSync(join(home, 'open.url'), 'postgres://localhost/reef', { mode: 0o644 });
    expect(await reef('--print', '--database-url-file', 'open.url')).toMatchObject({ error: { code: 'bad_request' } });
  },
);

const spec = { command: ['/bin/echo', '$HOME', '%h', 'a "b" \\c'], path: '/usr/bin:/bin', finalCodes: [0, 78] };

verifies('F-45').test(
  'it is written where systemd looks for units of the user, and refused where there is no systemd',
  async () => {
    const booted = temporaryFolder();
    const none = writeUnit(unitText(spec), { configHome: home }, join(booted, 'none'));
    await expect(none).rejects.toMatchObject({ code: 'systemd_missing' });
    const file = await writeUnit(unitText(spec), { configHome: home }, booted);
    expect([file, readFileSync(file, 'utf8')]).toEqual([join(home, 'systemd/user', UNIT), unitText(spec)]);
    expect(() => unitText({ ...spec, path: '/bin\nExecStart=/bin/sh' })).toThrow('line break');
  },
);

verifies('F-45')
  .needs(findOnPath('systemd-analyze', process.env.PATH ?? '') !== undefined, 'systemd-analyze is not installed')
  .test('systemd reads the unit without a word', async () => {
    const file = await writeUnit(unitText(spec), { configHome: temporaryFolder() }, '/');
    const env = { PATH: process.env.PATH, HOME: home, XDG_RUNTIME_DIR: temporaryFolder() };
    const said = await run('systemd-analyze', ['verify', '--user', file], { env });
    expect(said).toEqual({ stdout: '', stderr: '' });
  });
