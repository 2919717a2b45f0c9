import { expect, test } from 'vitest';
import { verifies } from '../../test/support/verifies.ts';
import type { SandboxMode } from '../protocol/jobs.ts';
import type { AgentDescription } from './adapter.ts';
import { chooseSandbox } from './permissions.ts';

const agents: Record<string, Pick<AgentDescription, 'name' | 'sandbox'>> = {
  claude: { name: 'claude' },
  codex: { name: 'codex', sandbox: 'own' },
  native: { name: 'native:coder', sandbox: false },
};

/** `here` is a machine on which bubblewrap works, `there` one without. */
const cases: [SandboxMode, boolean | undefined, string, { here: string; there: string }][] = [
  ['auto', undefined, 'claude', { here: 'bubblewrap', there: 'none' }],
  ['auto', undefined, 'codex', { here: 'bubblewrap', there: 'agent' }],
  ['auto', undefined, 'native', { here: 'none', there: 'none' }],
  ['auto', true, 'codex', { here: 'bubblewrap', there: 'sandbox_unavailable' }],
  ['auto', true, 'native', { here: 'sandbox_unsupported', there: 'sandbox_unsupported' }],
  ['auto', false, 'codex', { here: 'agent', there: 'agent' }],
  ['require', undefined, 'claude', { here: 'bubblewrap', there: 'sandbox_unavailable' }],
  ['require', undefined, 'native', { here: 'sandbox_unsupported', there: 'sandbox_unsupported' }],
  ['off', undefined, 'claude', { here: 'none', there: 'none' }],
  ['off', true, 'claude', { here: 'bubblewrap', there: 'sandbox_unavailable' }],
];

function choose(mode: SandboxMode, sandbox: boolean | undefined, agent: string, bubblewrap?: string): string {
  try {
    return chooseSandbox({ sandbox, yes: false, unsafe: false }, undefined, {
      bubblewrap,
      mode,
      agent: agents[agent],
    });
  } catch (error) {
    return (error as { code: string }).code;
  }
}

for (const [mode, sandbox, agent, expected] of cases) {
  verifies('X-22', 'X-133').test(`sandbox: ${mode}, asked for: ${sandbox}, ${agent}`, () => {
    const found = { here: choose(mode, sandbox, agent, '/usr/bin/bwrap'), there: choose(mode, sandbox, agent) };
    expect(found).toEqual(expected);
  });
}

test("an agent's own sandbox is not enough for one that asks nothing", () => {
  const around = { bubblewrap: undefined, mode: 'auto', agent: agents.codex } as const;
  expect(() => chooseSandbox({ yes: true, unsafe: false }, undefined, around)).toThrow('needs a sandbox around it');
});
