import { expect } from 'vitest';
import { verifies } from '../../../test/support/verifies.ts';
import { ReefError } from '../../protocol/errors.ts';
import { acpAdapter } from '../acp/adapter.ts';
import type { Adapter } from '../adapter.ts';
import { claudeAdapter } from '../claude/adapter.ts';
import { codexAdapter } from '../codex/adapter.ts';
import { codexExecAdapter } from '../codex/exec-adapter.ts';
import { reefProtocolAdapter } from '../reef-protocol/adapter.ts';
import { refuseHeadful } from './headful.ts';

const claude = claudeAdapter as unknown as Adapter;
const asked = { mode: 'headful', yes: false, budget: {} } as const;

interface Case {
  request?: Partial<Parameters<typeof refuseHeadful>[0]>;
  adapter?: unknown;
  tmux?: string | undefined;
  jobId?: string;
}

function refusal({ request, adapter = claude, jobId, ...machine }: Case): string {
  const capabilities = { tmux: '/usr/bin/tmux', ...machine };
  try {
    refuseHeadful({ ...asked, ...request }, { adapter: adapter as Adapter, capabilities }, jobId ? { jobId } : {});
    return 'allowed';
  } catch (error) {
    if (!(error instanceof ReefError)) throw error;
    return `${error.code}: ${error.message}`;
  }
}

verifies('A-121').test('a terminal is refused where there is no tmux, which the message names, or no terminal', () => {
  const adapters = [codexAdapter, codexExecAdapter, acpAdapter('gemini', {}), reefProtocolAdapter('scripted:x.yaml')];
  expect([refusal({ tmux: undefined }), ...adapters.map((adapter) => refusal({ adapter }))]).toEqual([
    'headful_unsupported: tmux is not installed here',
    'allowed',
    'headful_unsupported: Codex (exec) has no terminal that Reef can open',
    expect.stringMatching(/^headful_unsupported: .+ has no terminal that Reef can open$/),
    expect.stringMatching(/^headful_unsupported: .+ has no terminal that Reef can open$/),
  ]);
});

verifies('A-121', 'X-08').test('a terminal is for people, and what Reef cannot see in it is not promised', () => {
  const refusals = [
    refusal({}),
    refusal({ request: { budget: { seconds: 60 } } }),
    refusal({ jobId: '01K' }),
    refusal({ request: { yes: true } }),
    refusal({ request: { budget: { tokens: 5 } } }),
    refusal({ request: { budget: { turns: 5 } } }),
  ];
  expect(refusals.map((text) => text.split(':')[0])).toEqual([
    'allowed',
    'allowed',
    'not_yours',
    'bad_request',
    'bad_request',
    'bad_request',
  ]);
});

verifies('A-121').test('a headless job is asked nothing about terminals', () => {
  const request = { mode: 'headless', yes: true, budget: { tokens: 5 } } as const;
  expect(refusal({ request, adapter: codexExecAdapter, tmux: undefined, jobId: '01K' })).toBe('allowed');
});
