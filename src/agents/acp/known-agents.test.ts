import { describe, expect, test } from 'vitest';
import { machine, spec } from '../../../test/support/agents/acp-talk.ts';
import { verifies } from '../../../test/support/verifies.ts';
import type { MachineFacts } from '../adapter.ts';
import { acpAdapter } from './adapter.ts';
import { knownAcpAgents } from './known-agents.ts';

describe('known agents', () => {
  verifies('A-113').test('ask, obey SIGTERM and log in as they need it', () => {
    const facts = Object.entries(knownAcpAgents).map(([name, { command, env, auth }]) => ({
      name,
      command,
      env,
      auth,
    }));
    expect(facts).toEqual([
      {
        name: 'gemini',
        command: ['gemini', '--acp'],
        env: { GEMINI_CLI_NO_RELAUNCH: 'true' },
        auth: 'gemini-api-key',
      },
      {
        name: 'opencode',
        command: ['opencode', 'acp'],
        env: { OPENCODE_CONFIG_CONTENT: '{"permission":{"bash":"ask","edit":"ask"}}' },
        auth: undefined,
      },
    ]);
  });

  test('get their arguments when only the program was found', () => {
    const plan = acpAdapter('gemini').command(spec, { ...machine, command: ['/usr/bin/gemini'] });
    expect([plan.file, plan.args]).toEqual(['/usr/bin/gemini', ['--acp']]);
  });

  test('take what the configuration says beside what is known', () => {
    const gemini = acpAdapter('gemini', { command: ['/opt/gemini', '--acp', '-d'], auth: '' });
    const at: MachineFacts = { ...machine, command: ['/opt/gemini', '--acp', '-d'] };
    expect([gemini.describe().executable, gemini.command(spec, at).env, gemini.initial(spec, at).launch?.auth]).toEqual(
      ['/opt/gemini', { GEMINI_CLI_NO_RELAUNCH: 'true', GEMINI_CLI_TRUST_WORKSPACE: 'false' }, null],
    );
  });

  test('are the only ones that need no command', () => {
    expect(() => acpAdapter('acp:none')).toThrow('acp:none is not known and has no command in the configuration');
  });

  test('are found behind a launcher that only prints an error', () => {
    const find = (path: string) => acpAdapter('opencode').describe().behindLauncher?.(path);
    const name = `opencode-${process.platform}-${process.arch}`;
    expect([find('/n/opencode-ai/bin/opencode.exe'), find('/usr/bin/opencode')]).toEqual([
      [`/n/${name}-baseline/bin/opencode`, `/n/${name}/bin/opencode`],
      [],
    ]);
  });
});
