import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { verifies } from '../../test/support/verifies.ts';
import { joinedPath, loginPath } from './login-shell.ts';

const dir = temporaryFolder();

const home = dir;
const all = { PATH: '/usr/bin:/bin', HOME: dir, API_KEY: 'secret' };

/** A program in the place of the user's shell. */
function shellThat(name: string, ...lines: string[]): string {
  const file = join(dir, name);
  writeFileSync(file, ['#!/bin/sh', ...lines, ''].join('\n'), { mode: 0o755 });
  return file;
}

verifies('A-83').test('the login shell says its PATH, whatever its start files say besides', async () => {
  writeFileSync(join(dir, '.profile'), 'echo "Welcome back!"; echo PATH=/wrong; PATH="/opt/my agents:/usr/bin"\n');
  expect(await loginPath({ shell: '/bin/sh', home, all })).toBe('/opt/my agents:/usr/bin');
});

verifies('A-83').test('start files see the everyday variables and no key', async () => {
  const shell = shellThat('leaky', `env > ${dir}/seen`, 'shift 3', 'exec sh -c "$@"');
  expect(await loginPath({ shell, home, all })).toBe('/usr/bin:/bin');
  expect(readFileSync(join(dir, 'seen'), 'utf8')).not.toContain('API_KEY');
});

verifies('A-83').test('a shell that hangs, fails, or is not there gives nothing and ends nothing', async () => {
  const shells = [shellThat('hangs', 'sleep 600'), shellThat('fails', 'exit 1'), join(dir, 'absent')];
  const said = await Promise.all(shells.map((shell) => loginPath({ shell, home, all }, 300)));
  expect(said).toEqual([undefined, undefined, undefined]);
});

verifies('A-83').test('two PATHs are joined without repeating a folder, the first goes before', () => {
  expect(joinedPath('/a:/b:', '/b:/c')).toBe('/a:/b:/c');
  expect(joinedPath('', '/c')).toBe('/c');
});
