import { expect, test } from 'vitest';
import { verifies } from '../../../test/support/verifies.ts';
import type { LaunchRequest, MachineFacts } from '../adapter.ts';
import { isOlder } from '../description.ts';
import { claudeAdapter } from './adapter.ts';

const request: LaunchRequest = {
  jobId: '01K',
  cwd: '/repo',
  freshSessionId: '11111111-2222-4333-8444-555555555555',
  prompt: 'secret task',
  clientVersion: '1.0.0',
};
const machine: MachineFacts = { command: ['/opt/claude', '--leading'], agentSandbox: true, settings: {} };

verifies('A-93', 'A-85', 'A-49').test('a first launch names a fresh session and nothing of the task', () => {
  expect(claudeAdapter.command(request, machine)).toEqual({
    file: '/opt/claude',
    args: [
      ...['--leading', '-p', '--input-format', 'stream-json', '--output-format', 'stream-json', '--verbose'],
      ...['--permission-prompt-tool', 'stdio', '--session-id', request.freshSessionId],
      ...['--strict-mcp-config', '--setting-sources', 'user'],
    ],
    env: {
      CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS: '1',
      CLAUDE_CODE_MAX_RETRIES: '3',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
      DISABLE_TELEMETRY: '1',
    },
    stdin: 'fifo',
    greeting: [],
  });
});

test('a resume names its session and a model, and the values of the MCP server stay out of the arguments', () => {
  const mcp = { name: 'reef', command: '/bin/reef', args: ['mcp'], env: { REEF_TOKEN: 's3cret' } };
  const plan = claudeAdapter.command({ ...request, sessionId: 'old', model: 'haiku', mcp }, machine);
  const config = {
    mcpServers: { reef: { command: '/bin/reef', args: ['mcp'], env: { REEF_TOKEN: `\${REEF_MCP_REEF_TOKEN}` } } },
  };
  expect(plan.args.slice(9)).toEqual([
    ...['--resume', 'old', '--model', 'haiku'],
    ...['--strict-mcp-config', '--mcp-config', JSON.stringify(config)],
    ...['--settings', expect.any(String), '--setting-sources', 'user'],
  ]);
  expect(plan.env.REEF_MCP_REEF_TOKEN).toBe('s3cret');
  expect(plan.args.join(' ')).not.toContain('s3cret');
});

verifies('S-49').test('a hook of this job alone tells Claude the state after it has compacted its history', () => {
  const mcp = { name: 'reef', command: "/o'neil/node", args: ['/my reef/cli.ts', 'mcp'], env: { REEF_SOCKET: '/s' } };
  const { args } = claudeAdapter.command({ ...request, mcp }, machine);
  const settings: unknown = JSON.parse(args[args.indexOf('--settings') + 1] ?? '');
  const command = `REEF_SOCKET="$REEF_MCP_REEF_SOCKET" '/o'\\''neil/node' '/my reef/cli.ts' 'state' 'hook'`;
  expect(settings).toEqual({
    hooks: { SessionStart: [{ matcher: 'compact', hooks: [{ type: 'command', command, timeout: 3 }] }] },
  });
  expect(claudeAdapter.command(request, machine).args).not.toContain('--settings');
});

test('the native program is looked for behind the stub of the npm package, and behind nothing else', () => {
  const { behindLauncher } = claudeAdapter.describe();
  expect(behindLauncher?.('/n/@anthropic-ai/claude-code/bin/claude.exe')).toContain(
    '/n/@anthropic-ai/claude-code-linux-x64/claude',
  );
  expect(behindLauncher?.('/home/me/.local/share/claude/versions/2.1.325')).toEqual([]);
});

verifies('X-20').test('neither a key nor another endpoint reaches Claude unless it is configured', () => {
  const { passEnv } = claudeAdapter.describe();
  expect(passEnv.filter((name) => name.startsWith('ANTHROPIC_'))).toEqual([]);
});

test('versions are compared number by number, and an unreadable one is old', () => {
  const cases = [undefined, 'x', '2.1.197 (Claude Code)', '2.1.324', '2.1.325', '2.1.1000', '2.2.0', '3.0.0'];
  expect(cases.map((version) => isOlder(version, '2.1.325'))).toEqual([
    ...[true, true, true, true],
    ...[false, false, false, false],
  ]);
});
