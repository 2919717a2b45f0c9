import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect } from 'vitest';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { verifies } from '../../test/support/verifies.ts';
import { sandboxFor } from './sandbox.ts';

let home: string;
beforeEach(() => {
  home = temporaryFolder();
});

const sandboxOf = (agentEnv: Record<string, string>) => {
  const around = { stateDirs: ['$AGENT_DIR', '~/.agent'], settings: { '$AGENT_DIR/set': '{}', '~/.agent/set': '{}' } };
  const of = {
    ...around,
    homeDir: join(home, '.reef'),
    sockets: join(home, 'run'),
    env: {},
    agentEnv,
    program: '/bin/sh',
  };
  const { writable, guarded } = sandboxFor({ id: 'x', cwd: '/repo', sandbox: 'bubblewrap' }, of) ?? {};
  return { writable, settings: guarded?.filter((path) => path.endsWith('set')) };
};

for (const [what, env] of [
  ['empty', { AGENT_DIR: '' }],
  ['absent', {}],
] as const) {
  verifies('X-23').test(`a variable that is ${what} names no folder of the agent's`, () => {
    const [folder, file] = [join(home, '.agent'), join(home, '.agent', 'set')];
    expect(sandboxOf({ HOME: home, ...env })).toEqual({ writable: ['/repo', folder], settings: [file] });
    expect([existsSync(file), existsSync('/set')]).toEqual([true, false]);
  });
}

verifies('X-23').test('without a home only the variable says where the agent keeps what', () => {
  const folder = join(home, 'elsewhere');
  mkdirSync(folder);
  expect(sandboxOf({ AGENT_DIR: folder, HOME: '' })).toEqual({
    writable: ['/repo', folder],
    settings: [join(folder, 'set')],
  });
});
