import { expect } from 'vitest';
import { commands } from '../../../../test/support/engine/workbench.ts';
import { verifies } from '../../../../test/support/verifies.ts';
import { systemClock } from '../../../base/clock.ts';
import { createBuiltinTools } from './all.ts';

verifies('R-90').test('the built-in tools are those of the seed, and say what they do', async () => {
  const tools = createBuiltinTools({
    run: await commands(),
    shell: '/bin/sh',
    clock: systemClock,
    outputsDir: '/tmp/none',
    addressesOf: async () => [],
    get: () => Promise.reject(new Error('nothing is fetched here')),
  });
  const shape = Object.fromEntries(
    tools.map(({ name, parameters }) => [name, Object.keys(parameters.properties as object).join()]),
  );
  expect(shape).toEqual({
    fs_cat: 'path',
    fs_read: 'path,offset,limit',
    fs_ls: 'path',
    fs_glob: 'pattern,path',
    fs_grep: 'pattern,path,include',
    fs_write: 'path,contents',
    fs_patch: 'path,contents',
    fs_mkdir: 'path',
    fs_rm: 'path',
    execute_command: 'command',
    execute_py_code: 'code',
    execute_sql_code: 'code',
    get_current_time: '',
    fetch_url_via_curl: 'url',
  });
  expect(tools.filter(({ description }) => !/^[A-Z].*\.$/s.test(description))).toEqual([]);
});
