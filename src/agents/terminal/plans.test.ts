import { expect, test } from 'vitest';
import { verifies } from '../../../test/support/verifies.ts';
import type { Adapter, LaunchRequest, MachineFacts } from '../adapter.ts';
import { claudeAdapter } from '../claude/adapter.ts';
import { codexAdapter } from '../codex/adapter.ts';
import { forMode } from './headful.ts';

const request: LaunchRequest = {
  jobId: '01K',
  cwd: '/repo',
  freshSessionId: '11111111-2222-4333-8444-555555555555',
  prompt: 'secret task',
  clientVersion: '1.0.0',
  mcp: { name: 'reef', command: '/bin/reef', args: ['mcp', '"'], env: { REEF_SOCKET: '/a "socket"' } },
};
const machine: MachineFacts = { command: ['/opt/agent', '--leading'], agentSandbox: true, settings: {} };
const ready = '\u001b]0;';

const planOf = (adapter: unknown, more: Partial<LaunchRequest> = {}) =>
  forMode(adapter as Adapter, 'headful').command({ ...request, ...more }, machine);

verifies('A-121', 'A-85').test(
  'Claude Code opens its terminal with a session we know, and nothing of the task or of a value',
  () => {
    const plan = planOf(claudeAdapter);
    expect(plan).toEqual({
      file: '/opt/agent',
      args: [
        ...['--leading', '--session-id', request.freshSessionId, '--strict-mcp-config', '--mcp-config'],
        expect.stringContaining(`\${REEF_MCP_REEF_SOCKET}`),
        ...['--settings', expect.stringContaining('SessionStart'), '--setting-sources', 'user'],
      ],
      env: {
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        DISABLE_AUTOUPDATER: '1',
        DISABLE_TELEMETRY: '1',
        REEF_MCP_REEF_SOCKET: '/a "socket"',
      },
      stdin: { ready },
      greeting: [],
      sessionId: request.freshSessionId,
    });
    expect(plan.args.join(' ')).not.toMatch(/secret|socket"/);
  },
);

verifies('A-121', 'A-66').test('a resumed Claude Code is the session it was', () => {
  const { args, sessionId } = planOf(claudeAdapter, { sessionId: 'old', model: 'haiku' });
  expect([args.slice(1, 5), sessionId]).toEqual([['--resume', 'old', '--model', 'haiku'], 'old']);
});

verifies('A-121', 'A-85').test('Codex opens its terminal without a server that would outlive the job', () => {
  expect(planOf(codexAdapter, { model: 'gpt-x' })).toEqual({
    file: '/opt/agent',
    args: [
      '--leading',
      ...['-c', 'tui.terminal_title=["session-id"]', '-c', 'features.daemon_auto_start=false', '-c'],
      'mcp_servers.reef={command="/bin/reef",args=["mcp","\\""],env_vars=["REEF_SOCKET"],default_tools_approval_mode="approve"}',
      ...['--ask-for-approval', 'on-request', '--sandbox', 'workspace-write', '--model', 'gpt-x'],
    ],
    env: { REEF_SOCKET: '/a "socket"' },
    stdin: { ready },
    greeting: [],
  });
});

test('a Codex whose session is known continues it, in the sandbox that is there', () => {
  const { mcp: _, ...bare } = request;
  const terminal = forMode(codexAdapter as unknown as Adapter, 'headful');
  const { args } = terminal.command({ ...bare, sessionId: 'old' }, { ...machine, agentSandbox: false });
  expect([args.slice(1, 3), args.slice(-2)]).toEqual([
    ['resume', 'old'],
    ['--sandbox', 'danger-full-access'],
  ]);
});

verifies('A-121').test('of an agent without hooks nothing is parsed, and how it ends is not read from it', () => {
  const terminal = forMode(codexAdapter as unknown as Adapter, 'headful');
  const state = terminal.initial(request, machine);
  const line = { stream: 'err', text: 'tmux: lost server' } as const;
  expect({
    state,
    parsed: terminal.parse(state, line),
    encoded: terminal.encode(state, { kind: 'interrupt', messageId: 'm' }),
    finish: terminal.finish(state, { code: 1, signal: null, stderrTail: 'API key' }),
    about: terminal.describe(),
  }).toEqual({
    state: null,
    parsed: { state: null, effects: [] },
    encoded: { refuse: 'send_unsupported', message: expect.any(String) },
    finish: undefined,
    about: codexAdapter.describe(),
  });
  expect(forMode(claudeAdapter as unknown as Adapter, 'headless')).toBe(claudeAdapter);
});
